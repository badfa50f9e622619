//! Histograms held against sorted values, and buckets against their rule.

use super::*;
use proptest::prelude::*;

#[test]
fn buckets_are_contiguous_and_narrow() {
    let mut next = 0u128;
    for i in 0..BUCKETS {
        let (low, width) = bounds(i);
        assert_eq!(u128::from(low), next, "bucket {i}");
        assert_eq!(index(low), i);
        assert!(low < 128 || width as f64 <= low as f64 / 128.0);
        next = u128::from(low) + u128::from(width);
    }
    assert_eq!(next, 1 << 64, "every u64 has a bucket");
    assert_eq!((value_of(127), value_of(256)), (Some(127), Some(257)));
    assert_eq!((value_of(BUCKETS as u64), value_of(u64::MAX)), (None, None));
}

#[test]
fn an_empty_histogram_has_no_mean_and_no_quantile() {
    let h = Histogram::default();
    assert_eq!((h.mean_ns(), h.quantile_ns(0.5), h.min_ns(), h.max_ns()), (None, None, 0, 0));
}

proptest! {
    #[test]
    fn quantiles_agree_with_the_sorted_values_and_the_library(
        values in prop::collection::vec(1u64..10_000_000_000, 1..400),
        q in 0.0f64..=1.0,
    ) {
        let mut ours = Histogram::default();
        let mut library = hdrhistogram::Histogram::<u64>::new(3).unwrap();
        for v in &values { ours.record(*v); library.record(*v).unwrap(); }
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let rank = ((q * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len());
        let exact = sorted[rank - 1] as f64;
        let got = ours.quantile_ns(q).unwrap() as f64;
        prop_assert!((got / exact - 1.0).abs() <= 0.01, "{got} for {exact}");
        let theirs = library.value_at_quantile(q) as f64;
        // The library rounds ranks by its own rule: hold it only where both mean one value.
        if library.len() as usize == rank || rank == 1 {
            prop_assert!((theirs / exact - 1.0).abs() <= 0.01);
        }
        prop_assert_eq!(ours.max_ns(), *sorted.last().unwrap());
        prop_assert_eq!(ours.min_ns(), sorted[0]);
    }

    #[test]
    fn merging_parts_is_counting_the_whole(
        a in prop::collection::vec(any::<u32>(), 0..100),
        b in prop::collection::vec(any::<u32>(), 0..100),
    ) {
        let count = |values: &[u32]| {
            let mut h = Histogram::default();
            for v in values { h.record(u64::from(*v)); }
            h
        };
        let mut merged = count(&a);
        merged.merge(&count(&b));
        let whole = count(&[a, b].concat());
        prop_assert!(merged == whole);
        let (buckets, counts): (Vec<_>, Vec<_>) = whole.nonzero().unzip();
        let back = Histogram::from_parts(
            &buckets, &counts, whole.sum_ns(), whole.min_ns(), whole.max_ns()).unwrap();
        prop_assert!(back == whole);
    }

    #[test]
    fn every_store_counts_alike(values in prop::collection::vec(any::<u64>(), 0..200)) {
        let (mut dense, mut sparse) = (Histogram::default(), SparseHistogram::default());
        let (mut coarse, mut small) = (CoarseHistogram::default(), SmallHistogram::default());
        for value in &values {
            let value = value >> (value % 64);
            dense.record(value);
            sparse.record(value);
            coarse.record(value);
            small.record(value);
        }
        prop_assert!(dense.nonzero().eq(sparse.nonzero()));
        let mut merged = Histogram::default();
        merged.merge(&sparse);
        prop_assert!(merged == dense);
        prop_assert_eq!((coarse.count(), coarse.max_ns()), (dense.count(), dense.max_ns()));
        for quantile in [0.0, 0.5, 0.99, 1.0] {
            let of = dense.quantile_ns(quantile).map(|ns| ns as f64);
            let like = coarse.quantile_ns(quantile).map(|ns| ns as f64);
            let small = small.quantile_ns(quantile).map(|ns| ns as f64);
            let near = |(of, like): (f64, f64)| (of - like).abs() <= 3.0f64.max(of * 0.024);
            prop_assert!(of.zip(small).is_none_or(near));
            let is_near = of.zip(like).is_none_or(near);
            prop_assert!(is_near, "{of:?} {like:?}");
        }
    }
}

fn counted<S: Store>(values: impl IntoIterator<Item = u64>) -> Buckets<S> {
    let mut buckets = Buckets::default();
    values.into_iter().for_each(|value| buckets.record(value));
    buckets
}

#[test]
fn figures_are_exact_and_values_are_the_middles_of_their_buckets() {
    let h = counted::<Dense>([10_000, 20_000]);
    assert_eq!((h.count(), h.sum_ns(), h.mean_ns()), (2, 30_000, Some(15_000.0)));
    // A bucket of 64 ns from 9984 on; the greatest value bounds the other's.
    assert!(h.values().eq([(10_016, 1), (20_000, 1)]));
    let binned = Binned::new(10_000);
    assert_eq!((binned.value_ns(), usize::from(binned.bucket())), (10_000, index(9_984)));
    assert_eq!(format!("{h:?}"), "Histogram(2 values, 10000 to 20000 ns)");
}

#[test]
fn values_known_by_their_buckets_count_as_if_each_were_recorded() {
    let values = [3, 70_000, 70_000, 5];
    let mut all = counted::<Dense>([9]);
    all.record_all(&values.map(|value| Binned::new(value).bucket()), (140_008, 3, 70_000));
    assert!(all == counted::<Dense>([9, 3, 70_000, 70_000, 5]));
}

#[test]
fn what_is_left_without_others_keeps_the_ends_of_the_whole() {
    let whole = counted::<Dense>([1, 5, 5, 900]);
    let left = whole.without(&counted::<Dense>([1, 5]));
    assert!(left.nonzero().eq([(5, 1), (index(900) as u64, 1)]));
    assert_eq!((left.count(), left.sum_ns()), (2, 905));
    assert_eq!((left.min_ns(), left.max_ns()), (1, 900));
    let tight = left.tightened();
    assert_eq!((tight.min_ns(), tight.max_ns()), (5, 900));
    // No octave is made for what has gone.
    let sparse = counted::<ByOctave<128>>([5]);
    assert_eq!(sparse.without(&sparse).counts, ByOctave::default());
}

#[test]
fn stored_parts_that_contradict_each_other_are_none() {
    let of = |buckets: &[u64], counts: &[u64]| {
        Histogram::from_parts(buckets, counts, 7, 7, 7).map(|h| h.count())
    };
    assert_eq!(of(&[7], &[1]), Some(1));
    assert_eq!((of(&[7], &[]), of(&[7], &[1, 1])), (None, None));
    let last = BUCKETS as u64 - 1;
    assert_eq!(
        (of(&[last], &[1]), of(&[last + 1], &[1]), of(&[u64::MAX], &[1])),
        (Some(1), None, None)
    );
    // Nothing has no least value, whatever is stored.
    let mut h = counted::<Dense>([9]);
    h.merge(&Histogram::from_parts(&[], &[], 0, 7, 0).unwrap());
    assert_eq!(h.min_ns(), 9);
}

#[test]
fn a_list_is_sorted_when_as_many_are_new_as_sorted() {
    let one = counted::<Listed<4>>([7; 10]);
    assert_eq!((one.counts.counts.len(), one.counts.sorted), (10, 0));
    let one = counted::<Listed<4>>([7; 1000]);
    assert!(one.counts.counts.len() <= 2 + FEW, "{}", one.counts.counts.len());
    let apart = (0..80).map(|place| bounds(4 * place).0);
    assert_eq!(counted::<Listed<4>>(apart).counts.sorted, 32);
}

proptest! {
    #[test]
    fn a_list_counts_four_buckets_as_one(
        values in prop::collection::vec(any::<u64>(), 0..300),
    ) {
        let values = || values.iter().map(|value| value >> (value % 64));
        let mut expected = std::collections::BTreeMap::new();
        values().for_each(|v| *expected.entry(index(v) as u64 & !3 | 2).or_insert(0) += 1);
        prop_assert!(counted::<Listed<4>>(values()).nonzero().eq(expected));
    }
}
