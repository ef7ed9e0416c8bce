import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { layOut } from './layout.ts'

const edge = (from: string, to: string) => ({ from, to })
const layersOf = (names: string[], edges: ReturnType<typeof edge>[]) => {
  const { places } = layOut(names, edges)
  return Object.fromEntries([...places].map(([id, { layer }]) => [id, layer]))
}

describe('the layout of a map', () => {
  it('has callers before what they call', () => {
    const edges = [edge('web', 'orders'), edge('orders', 'stock'), edge('web', 'stock')]
    assert.deepEqual(layersOf(['orders', 'stock', 'web'], edges), { web: 0, orders: 1, stock: 2 })
  })

  it('cuts circles, wherever they are, and passes over what is not there', () => {
    const edges = [edge('a', 'b'), edge('b', 'c'), edge('c', 'b'), edge('b', 'b'), edge('x', 'a')]
    assert.deepEqual(layersOf(['a', 'b', 'c'], edges), { a: 0, b: 1, c: 2 })
    assert.deepEqual(layersOf(['a', 'b'], [edge('a', 'b'), edge('b', 'a')]), { a: 0, b: 1 })
  })

  it('gives each node a place of its own, the same one whatever the order of what it is told', () => {
    const name = fc.integer({ min: 0, max: 12 }).map(String)
    const edges = fc.array(fc.record({ from: name, to: name }), { maxLength: 40 })
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 13 }), edges, (names, edges) => {
        const { places, sizes } = layOut(names, edges)
        const taken = new Set([...places.values()].map(({ layer, index }) => `${layer} ${index}`))
        assert.equal(taken.size, names.length)
        assert.equal(
          sizes.reduce((a, b) => a + b, 0),
          names.length
        )
        for (const { layer, index } of places.values()) assert.ok(index < sizes[layer]!)
        const again = layOut([...names].reverse(), [...edges].reverse())
        assert.deepEqual([...again.places].sort(), [...places].sort())
      })
    )
  })

  it('takes a long row of nodes', () => {
    const names = Array.from({ length: 3_000 }, (_, n) => `n${String(n).padStart(4, '0')}`)
    const edges = names.slice(1).map((to, index) => edge(names[index]!, to))
    assert.equal(layOut(names, edges).sizes.length, 3_000)
  })
})
