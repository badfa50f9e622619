// Questions to the server: of each kind one at a time, and of those that wait only the newest.

export class Questions<T> {
  private waiting: string | null = null;
  private isAsking = false;

  constructor(
    private readonly what: string,
    private readonly take: (answer: T, tookMs: number) => void,
    private readonly fail: (sentence: string) => void,
  ) {}

  /** Asks as soon as the question before is answered. */
  ask(question: unknown): void {
    this.waiting = `${this.what}?${encodeURIComponent(JSON.stringify(question))}`;
    if (!this.isAsking) void this.next();
  }

  private async next(): Promise<void> {
    this.isAsking = true;
    while (this.waiting !== null) {
      const url = this.waiting;
      this.waiting = null;
      try {
        const answer = await answered<T>(url);
        if (this.waiting === null) this.take(answer.value, answer.tookMs);
      } catch (error) {
        this.fail(error instanceof Error ? error.message : String(error));
      }
    }
    this.isAsking = false;
  }
}

/** What the server says to a question, and how long that took. */
export async function answered<T>(url: string): Promise<{ value: T; tookMs: number }> {
  const began = performance.now();
  const response = await fetch(url).catch(() => null);
  if (response === null) throw new Error("The server is gone: lbolt explore starts it again.");
  if (!response.ok) throw new Error((await response.text()).trim());
  const value = (await response.json()) as T;
  return { value, tookMs: performance.now() - began };
}
