//! Columns of numbers as other programs write them: Spark makes a u64 a decimal and a u16 an i32,
//! pandas a column with nulls one of doubles. What is the same number is read as it. A column
//! without a value is written as of any type: pyarrow has one of its own for it, others an i32 or a
//! text.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::DataType;

/// Whole numbers up to here are doubles without loss.
const EXACT: f64 = (1u64 << 53) as f64;

/// Whether a column has no value at all, so that its type says nothing.
pub(in crate::record) fn is_all_null(array: &dyn Array) -> bool {
    array.logical_null_count() == array.len()
}

/// A column as one of numbers of another type; none if it holds anything that is no such number.
pub(in crate::record) fn numbers<T>(array: &dyn Array) -> Option<PrimitiveArray<T>>
where
    T: ArrowPrimitiveType,
    T::Native: TryFrom<i128>,
{
    if let Some(same) = array.as_primitive_opt::<T>() {
        return Some(same.clone());
    }
    if is_all_null(array) {
        return Some(PrimitiveArray::new_null(array.len()));
    }
    macro_rules! whole {
        ($type:ty) => {
            each(array.as_primitive_opt::<$type>()?, |value| Some(i128::from(value)))
        };
    }
    match array.data_type() {
        DataType::Int8 => whole!(Int8Type),
        DataType::Int16 => whole!(Int16Type),
        DataType::Int32 => whole!(Int32Type),
        DataType::Int64 => whole!(Int64Type),
        DataType::UInt8 => whole!(UInt8Type),
        DataType::UInt16 => whole!(UInt16Type),
        DataType::UInt32 => whole!(UInt32Type),
        DataType::UInt64 => whole!(UInt64Type),
        DataType::Decimal128(_, 0) => whole!(Decimal128Type),
        DataType::Float64 => each(array.as_primitive_opt::<Float64Type>()?, |value| {
            let is_exact = value.trunc() == value && value.abs() <= EXACT;
            is_exact.then_some(value as i128)
        }),
        _ => None,
    }
}

fn each<F, T>(
    array: &PrimitiveArray<F>,
    whole: impl Fn(F::Native) -> Option<i128>,
) -> Option<PrimitiveArray<T>>
where
    F: ArrowPrimitiveType,
    T: ArrowPrimitiveType,
    T::Native: TryFrom<i128>,
{
    let mut is_fit = true;
    let values = array.iter().map(|value| {
        let found = whole(value?).and_then(|value| T::Native::try_from(value).ok());
        is_fit &= found.is_some();
        found
    });
    let values: PrimitiveArray<T> = values.collect();
    is_fit.then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{
        Decimal128Array, Float64Array, Int32Array, Int64Array, NullArray, StringArray, UInt64Array,
    };

    #[test]
    fn the_same_numbers_of_another_type_are_read_and_no_others() {
        let wanted = UInt64Array::from(vec![Some(5), None, Some(1 << 40)]);
        let decimals = Decimal128Array::from(vec![Some(5), None, Some(1 << 40)]);
        let decimals = decimals.with_precision_and_scale(20, 0).unwrap();
        let doubles = Float64Array::from(vec![Some(5.0), None, Some((1u64 << 40) as f64)]);
        let signed = Int64Array::from(vec![Some(5), None, Some(1 << 40)]);
        for array in [&decimals as &dyn Array, &doubles, &signed, &wanted] {
            assert_eq!(numbers::<UInt64Type>(array).as_ref(), Some(&wanted), "{array:?}");
            assert_eq!(numbers::<UInt16Type>(array), None);
        }
        let negative = Int32Array::from(vec![-1]);
        assert_eq!(numbers::<UInt64Type>(&negative), None);
        assert_eq!(numbers::<Int64Type>(&negative), Some(Int64Array::from(vec![-1])));
        for odd in [0.5, f64::NAN, f64::INFINITY, 1e300, -1.0] {
            assert_eq!(numbers::<UInt64Type>(&Float64Array::from(vec![odd])), None, "{odd}");
        }
        let scaled = Decimal128Array::from(vec![500]).with_precision_and_scale(20, 2).unwrap();
        assert_eq!(numbers::<UInt64Type>(&scaled), None);
        assert_eq!(numbers::<UInt64Type>(&StringArray::from(vec!["5"])), None);
    }

    #[test]
    fn nulls_of_any_type_are_nulls_of_numbers() {
        let texts = StringArray::from(vec![None::<&str>; 2]);
        for array in [&NullArray::new(2) as &dyn Array, &texts, &Float64Array::new_null(2)] {
            assert_eq!(numbers::<UInt64Type>(array), Some(UInt64Array::new_null(2)), "{array:?}");
        }
        let none = numbers::<UInt64Type>(&NullArray::new(0));
        assert_eq!(none, Some(UInt64Array::new_null(0)));
    }

    #[test]
    fn whole_numbers_of_every_width_are_read() {
        use arrow_array::{Int8Array, Int16Array, UInt8Array, UInt16Array, UInt32Array};
        let wanted = Int64Array::from(vec![Some(5), None]);
        macro_rules! check {
            ($($array:ty)*) => {
                $(let array = <$array>::from(vec![Some(5), None]);
                assert_eq!(numbers::<Int64Type>(&array).as_ref(), Some(&wanted), "{array:?}");)*
            };
        }
        check!(Int8Array Int16Array Int32Array UInt8Array UInt16Array UInt32Array UInt64Array);
        let most = UInt64Array::from(vec![u64::MAX]);
        assert_eq!(numbers::<Int64Type>(&most), None);
        let double = |value: f64| numbers::<Int64Type>(&Float64Array::from(vec![value]));
        assert_eq!(double(EXACT), Some(Int64Array::from(vec![1 << 53])));
        assert_eq!(double(EXACT * 2.0), None);
    }
}
