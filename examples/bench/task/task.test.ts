import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ECHO, flagsOfServer, flagsOfTask, type Task, taskOf } from './task.ts'

describe('the task of a server', () => {
  for (const [task, ofBench, ofServer] of [
    [ECHO, {}, ['--handler=sync']],
    [{ mode: 'request', handler: 'waits' }, { handler: 'waits' }, ['--handler=waits']],
    [
      { mode: 'stream', generator: 'async', take: null, values: 10, pause: 0 },
      { mode: 'stream', generator: 'async', values: 10, pause: 0 },
      ['--generator=async']
    ],
    [{ mode: 'emit', batch: 1, busy: 0.5 }, { mode: 'emit', batch: 1, busy: 0.5 }, ['--busy=0.5']],
    [{ mode: 'start' }, { mode: 'start' }, []],
    [{ mode: 'durable', step: 'consume' }, { mode: 'durable', step: 'consume' }, []]
  ] satisfies [Task, object, string[]][]) {
    it(`is passed in flags: ${JSON.stringify(task)}`, () => {
      assert.deepEqual(flagsOfTask(task), ofBench)
      assert.deepEqual(flagsOfServer(task), ofServer)
    })
  }

  it('is an echo by default', () => {
    assert.equal(taskOf({}), ECHO)
  })
})
