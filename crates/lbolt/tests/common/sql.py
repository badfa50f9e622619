# Runs a file of SQL in DuckDB, then each query, and prints the rows of each as JSON.
import json
import sys

import duckdb

connection = duckdb.connect()
# It would be on standard output.
connection.execute("SET enable_progress_bar = false")
with open(sys.argv[1], encoding="utf-8") as file:
    connection.execute(file.read())
answers = []
for query in sys.argv[2:]:
    cursor = connection.execute(query)
    names = [column[0] for column in cursor.description]
    answers.append([dict(zip(names, row)) for row in cursor.fetchall()])
print(json.dumps(answers, default=float))
