import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import { Rounds, type Watched } from './rounds.ts'

class Group implements Watched {
  isQuiet = true
  looks = 0

  look(): void {
    this.looks++
  }
}

function setting(count: number) {
  const rounds = new Rounds()
  const groups = Array.from({ length: count }, () => new Group())
  for (const one of groups) rounds.add(one)
  const end = () => {
    for (const one of groups) rounds.remove(one)
  }
  return { rounds, groups, end, looks: () => groups.reduce((sum, one) => sum + one.looks, 0) }
}

describe('groups of handlers with nothing to do', () => {
  it('cost two looks each time, however many there are', () => {
    for (const count of [2, 30, 300]) {
      const { rounds, looks, end } = setting(count)
      for (let time = 1; time <= 3; time++) {
        rounds.look()
        assert.equal(looks(), 2 * time)
      }
      end()
    }
  })

  it('are all looked at, in turn', () => {
    const { rounds, groups, end } = setting(7)
    for (let time = 0; time < 7; time++) rounds.look()
    assert.deepEqual(
      groups.map(({ looks }) => looks),
      [2, 2, 2, 2, 2, 2, 2]
    )
    end()
  })

  it('do not hold up a group in use', () => {
    const { rounds, groups, end } = setting(30)
    const [busy] = groups
    if (busy !== undefined) busy.isQuiet = false
    for (let time = 0; time < 5; time++) rounds.look()
    assert.equal(busy?.looks, 5)
    end()
  })

  it('are looked at every 5 seconds, as long as there is one', async () => {
    using time = new VirtualTime()
    const { rounds, groups, looks } = setting(2)
    await time.pass(4_999)
    assert.equal(looks(), 0)
    await time.pass(1)
    assert.equal(looks(), 2)
    const [one, other] = groups as [Group, Group]
    rounds.remove(one)
    await time.pass(5_000)
    assert.deepEqual([one.looks, other.looks, rounds.size], [1, 2, 1])
    const { timers } = time
    rounds.remove(other)
    assert.equal(time.timers, timers - 1)
    await time.pass(10_000)
    assert.equal(looks(), 3)
    rounds.add(one)
    await time.pass(5_000)
    assert.equal(looks(), 4)
    rounds.remove(one)
  })
})
