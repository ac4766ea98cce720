package join

// HashMap is hashMap, for the model.
type HashMap[V any] struct{ m hashMap[V] }

// Of finds the value of a key with this hashCode, or makes one.
func (h *HashMap[V]) Of(key []byte, hashCode int32) *V { return h.m.of(key, hashCode) }

// Remove removes a key.
func (h *HashMap[V]) Remove(key []byte, hashCode int32) { h.m.remove(key, hashCode) }

// Len is the number of keys.
func (h *HashMap[V]) Len() int { return h.m.size }

// Clear removes all keys.
func (h *HashMap[V]) Clear() { h.m.clear() }

// All visits the values.
func (h *HashMap[V]) All(visit func(key []byte, value *V)) { h.m.all(visit) }
