import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { runs } from '@elysia-microservices/test-support'
import fc from 'fast-check'
import { layOut, type Point } from './layout.ts'
import { MAX_EDGES, MAX_NODES } from './model.ts'

const line = (from: string, to: string) => ({ id: `${from} ${to}`, from, to })
const SHOP = [line('web', 'orders'), line('orders', 'stock'), line('web', 'stock')]

describe('the layout of a map', () => {
  it('has callers before what they call: on the left where there is room, else above', () => {
    const names = ['orders', 'stock', 'web']
    const wide = layOut(names, SHOP, 2_000).boxes
    assert.ok(wide.get('web')!.x < wide.get('orders')!.x)
    assert.ok(wide.get('orders')!.x < wide.get('stock')!.x)
    const narrow = layOut(names, SHOP, 350)
    assert.ok(narrow.boxes.get('web')!.y < narrow.boxes.get('orders')!.y)
    assert.ok(narrow.boxes.get('orders')!.y < narrow.boxes.get('stock')!.y)
    assert.equal(narrow.width, 350)
  })

  it('takes circles, what calls itself, and lines to what is not there', () => {
    const lines = [line('a', 'b'), line('b', 'c'), line('c', 'b'), line('b', 'b'), line('x', 'a')]
    const { boxes, lines: drawn } = layOut(['a', 'b', 'c'], lines, 2_000)
    assert.deepEqual([...boxes.keys()], ['a', 'b', 'c'])
    assert.deepEqual([...drawn.keys()], ['a b', 'b b', 'b c', 'c b'])
  })

  it('gives each box and the figures of each line room of their own, whatever the order of what it is told', () => {
    const name = fc.integer({ min: 0, max: 12 }).map(String)
    const lines = fc.uniqueArray(
      fc.record({ from: name, to: name }).map(({ from, to }) => line(from, to)),
      { maxLength: 30, size: 'max', selector: ({ id }) => id }
    )
    const names = fc.uniqueArray(name, { maxLength: 13, size: 'max' })
    fc.assert(
      fc.property(names, lines, fc.integer({ min: 300, max: 2_000 }), (names, lines, room) => {
        const picture = layOut(names, lines, room)
        assert.equal(picture.boxes.size, names.length)
        const boxes = [...picture.boxes.values()].map(({ x, y }) => ({ x, y, ...picture.box }))
        const labels = [...picture.lines.values()].map(({ label: { x, y } }) => ({
          x: x - picture.label.width / 2,
          y: y - picture.label.height / 2,
          ...picture.label
        }))
        const all = [...boxes, ...labels]
        for (const [index, one] of all.entries()) {
          assert.ok(one.x >= 0 && one.y >= 0)
          assert.ok(one.x + one.width <= picture.width + 1 && one.y + one.height <= picture.height + 1)
          for (const other of all.slice(index + 1))
            assert.ok(!overlap(one, other), JSON.stringify([one, other]))
        }
        for (const [id, { d, label }] of picture.lines) {
          assert.match(d, /^M[\d. -]+(?:[LQ][\d. -]+)+$/)
          const isCircle = new Set(id.split(' ')).size === 1
          assert.ok(isCircle || pointsOf(d).some((point) => isNear(point, label)), `${d} misses its figures`)
        }
        assert.deepEqual(layOut([...names].reverse(), [...lines].reverse(), room), picture)
      }),
      { numRuns: runs(40) }
    )
  })

  it('takes as many boxes and lines as a map has', () => {
    const names = Array.from({ length: MAX_NODES }, (_, n) => `n${n}`)
    const lines = Array.from({ length: MAX_EDGES }, (_, n) =>
      line(
        names[n % MAX_NODES] as string,
        names[(n * 37 + 11 * Math.floor(n / MAX_NODES)) % MAX_NODES] as string
      )
    )
    assert.equal(layOut(names, lines, 1_000).lines.size, new Set(lines.map(({ id }) => id)).size)
  })
})

/** The points at which the parts of a path end. */
function pointsOf(d: string): Point[] {
  return [...d.matchAll(/(-?[\d.]+) (-?[\d.]+)(?=[LQ]|$)/g)].map(([, x, y]) => ({
    x: Number(x),
    y: Number(y)
  }))
}

function isNear(a: Point, b: Point): boolean {
  return Math.hypot(a.x - b.x, a.y - b.y) < 0.2
}

interface Rectangle {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

function overlap(a: Rectangle, b: Rectangle): boolean {
  const near = (p: number, size: number, q: number, other: number) => p + size > q + 1 && q + other > p + 1
  return near(a.x, a.width, b.x, b.width) && near(a.y, a.height, b.y, b.height)
}
