import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Contender, judge } from './verdict.ts'

const contender = (name: string, values: Contender['values'], errors = 0): Contender => ({
  name,
  values,
  errors
})

describe('a verdict', () => {
  const cases: [what: string, contenders: Contender[], winner: string | null, reason: RegExp][] = [
    [
      'goes to whose worst run is better than the best of all others',
      [contender('a', [110, 120, 105]), contender('b', [100, 104, 90]), contender('c', [1, 2, 3])],
      'a',
      /^a is ahead in req\/s: the worst of its 3 runs, 105, is better than the best of anybody else, 104 of b\.$/
    ],
    [
      'is none where runs overlap',
      [contender('a', [110, 120, 103]), contender('b', [100, 104, 90])],
      null,
      /^No clear winner in req\/s: the runs overlap, a has 103 in its worst and b gets up to 104\.$/
    ],
    [
      'is none where runs touch',
      [contender('a', [110, 104]), contender('b', [104, 90])],
      null,
      /the runs overlap/
    ],
    [
      'sees who overlaps, even if that one is not the second',
      [contender('a', [110, 112, 114]), contender('b', [105, 106, 107]), contender('c', [1, 2, 113])],
      null,
      /a has 110 in its worst and c gets up to 113/
    ],
    [
      'is none after a single run',
      [contender('a', [110]), contender('b', [100])],
      null,
      /one run has no spread to judge by \(a was ahead in it\)/
    ],
    [
      'does not go to who had errors',
      [contender('a', [200, 201], 3), contender('b', [100, 101]), contender('c', [1, 2])],
      'b',
      /a had errors or losses and cannot win\.$/
    ],
    [
      'is none where only one is left',
      [contender('a', [200, 201], 3), contender('b', [100, 101])],
      null,
      /there is nobody to compare b with\. a had errors/
    ],
    [
      'is none where nobody was measured',
      [contender('a', [null]), contender('b', [null])],
      null,
      /nobody was measured/
    ],
    [
      'leaves out runs that are not known',
      [contender('a', [110, null, 120]), contender('b', [100, 101, 102])],
      'a',
      /the worst of its 2 runs, 110/
    ]
  ]
  for (const [what, contenders, winner, reason] of cases) {
    it(what, () => {
      const verdict = judge('rps', contenders)
      assert.equal(verdict.winner, winner)
      assert.match(verdict.reason, reason)
    })
  }

  it('knows for which figures lower is better', () => {
    const { winner, runs } = judge('p99', [contender('a', [1, 2]), contender('b', [3, 4])])
    assert.deepEqual([winner, runs], ['a', ['a', 'a']])
    assert.match(
      judge('p99', [contender('a', [1, 5]), contender('b', [3, 4])]).reason,
      /b has 4\.000 in its worst and a gets down to 1\.000|a has 5\.000 in its worst and b gets down to 3\.000/
    )
  })

  it('names the best of every run, and nobody if two are equal or no value is known', () => {
    const { runs } = judge('rps', [contender('a', [1, 5, 3, null]), contender('b', [2, 4, 3, null])])
    assert.deepEqual(runs, ['b', 'a', null, null])
  })
})
