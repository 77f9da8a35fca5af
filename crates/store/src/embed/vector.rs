//! Vectors of texts in the space of a model.

/// A vector of length one, so that the dot product of two is the cosine of their angle.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector(Vec<f32>);

impl Vector {
    /// Normalizes `numbers`; `None` if all are zero or one is not finite.
    #[must_use]
    pub fn new(mut numbers: Vec<f32>) -> Option<Self> {
        let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
        if !length.is_finite() || length <= 0.0 {
            return None;
        }
        for number in &mut numbers {
            *number /= length;
        }
        Some(Self(numbers))
    }

    /// The number of components.
    #[must_use]
    pub const fn dimension(&self) -> usize {
        self.0.len()
    }

    /// The components.
    #[must_use]
    pub fn numbers(&self) -> &[f32] {
        &self.0
    }

    /// The components as little-endian bytes, four each.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    /// The cosine similarity to the vector with these bytes: 1 for the same direction, 0 for orthogonal ones; `None` if the
    /// dimensions differ.
    #[must_use]
    pub fn likeness_of_bytes(&self, bytes: &[u8]) -> Option<f32> {
        let (numbers, rest) = bytes.as_chunks::<4>();
        if numbers.len() != self.0.len() || !rest.is_empty() {
            return None;
        }
        // Eight partial sums allow SIMD additions.
        let mut sums = [0.0_f32; 8];
        for ((left, right), at) in self.0.iter().zip(numbers).zip((0..8).cycle()) {
            if let Some(sum) = sums.get_mut(at) {
                *sum += left * f32::from_le_bytes(*right);
            }
        }
        Some(sums.iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //
    #[test]
    fn a_05_a_vector_is_a_direction_and_comes_back_from_its_bytes() {
        let vector = Vector::new(vec![3.0, 4.0]).unwrap();
        assert_eq!(vector.numbers(), [0.6, 0.8]);
        let likeness =
            |left: &Vector, right: Vec<f32>| left.likeness_of_bytes(&Vector::new(right).unwrap().to_bytes()).unwrap();
        assert!((likeness(&vector, vec![6.0, 8.0]) - 1.0).abs() < 1e-6);
        assert!(likeness(&vector, vec![-4.0, 3.0]).abs() < 1e-6);
        assert!((likeness(&vector, vec![3.0, 4.0]) - 1.0).abs() < 1e-6);
        assert_eq!(vector.likeness_of_bytes(&[0; 12]), None);
        assert_eq!(vector.likeness_of_bytes(&[0; 9]), None);
        let long = Vector::new((0..1536_u16).map(f32::from).collect()).unwrap();
        assert!((long.likeness_of_bytes(&long.to_bytes()).unwrap() - 1.0).abs() < 1e-4);
        for nowhere in [vec![], vec![0.0, 0.0], vec![f32::NAN], vec![f32::INFINITY, 1.0]] {
            assert_eq!(Vector::new(nowhere), None);
        }
    }
}
