/** Which events may begin while their group is paused. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { PausedGroup } from './paused-group.ts'

it('only events that a process may have had begin late in a pause', () => {
  const group = new PausedGroup(false)
  assert.equal(group.begins('long', 0, 1_000), 0)
  assert.equal(group.begins('other', 0, 1_000), 0)
  group.ends('other', 2_000)
  group.since = 3_000
  assert.equal(group.begins('received', 2_500, 18_000), 0, 'the pause is on its way')
  assert.equal(group.begins('short', 2_500, 18_001), 15_001, 'nothing keeps it waiting')
  group.ends('short', 18_002)
  assert.equal(group.begins('third', 2_500, 18_003), 15_003, 'what began late excuses nothing')
  group.ends('long', 60_000)
  assert.equal(group.begins('behind', 2_500, 60_001), 0, 'it has waited for one that the pause found running')
  assert.equal(group.begins('new', 18_001, 60_001), 57_001, 'it was stored when the pause had come')
  assert.equal(group.begins('last', 2_500, 75_001), 72_001, 'nothing keeps it waiting any more')
  group.since = undefined
  assert.equal(group.begins('new', 18_001, 80_000), 0)
})

it('where events are held back, none begins late', () => {
  const group = new PausedGroup(true)
  group.begins('long', 0, 1_000)
  group.since = 3_000
  group.ends('long', 60_000)
  assert.equal(group.begins('behind', 2_500, 60_001), 57_001)
})
