import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CapacitySearch } from './capacity-search.ts'

/**
 * Searches with a server that keeps up with every rate up to `capacity`. Returns the found rate, and the number of
 * trials.
 */
function search(first: number, keeps: (rate: number, trial: number) => boolean) {
  const search = new CapacitySearch(first)
  let trials = 0
  for (let rate = search.next; rate !== undefined; rate = search.next) {
    search.tell(keeps(rate, trials++))
    assert.ok(trials < 200, 'it does not end')
  }
  return { best: search.best, trials }
}

describe('the search for the highest rate', () => {
  for (const first of [1, 1000, 1_000_000]) {
    for (const capacity of [1, 3, 77, 1000, 98_765, 1_500_000]) {
      it(`from ${first} finds ${capacity}, to 5 %`, () => {
        const { best, trials } = search(first, (rate) => rate <= capacity)
        assert.ok(best! <= capacity && (best! >= capacity / 1.05 - 1 || best! === 1), String(best))
        assert.ok(trials < 65, `${trials} trials`)
      })
    }
  }

  it('without a limit ends at the highest possible rate', () => {
    assert.equal(search(1000, () => true).best, 10_000_000)
  })

  it('finds nothing if the server cannot even keep one request per second', () => {
    assert.equal(search(1000, () => false).best, undefined)
  })

  it('gives a rate that fails a second chance', () => {
    const { best } = search(1000, (rate, trial) => rate <= 50_000 && trial % 2 === 1)
    assert.ok(best! > 50_000 / 1.06, String(best))
  })

  it('does not go on after its end', () => {
    const over = new CapacitySearch(1)
    while (over.next !== undefined) over.tell(false)
    over.tell(true)
    assert.equal(over.best, undefined)
  })
})
