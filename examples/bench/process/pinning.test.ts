import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cpuList, pinned, planPinning } from './pinning.ts'

describe('pinning', () => {
  for (const [text, cpus] of [
    ['0', [0]],
    ['0-2,5', [0, 1, 2, 5]],
    ['3,8-9\n', [3, 8, 9]],
    ['', []]
  ] as const) {
    it(`reads the kernel's CPU list '${text.trim()}'`, () => {
      assert.deepEqual(cpuList(text), cpus)
    })
  }

  it('gives server and client different CPUs, or the reason why not', () => {
    const { server, client, loads, note } = planPinning()
    if (server === null || client === null) assert.match(note!, /^not pinned: /)
    else {
      assert.notEqual(server, client)
      assert.equal(loads[0], client)
      assert.ok(!loads.includes(server))
    }
  })

  it('does not change a command that is not to be pinned', () => {
    assert.deepEqual(pinned(null, ['bun', 'x.ts']), ['bun', 'x.ts'])
    assert.deepEqual(pinned(3, ['bun', 'x.ts']), ['taskset', '-c', '3', 'bun', 'x.ts'])
  })
})
