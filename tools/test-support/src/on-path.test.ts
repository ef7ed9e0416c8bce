import assert from 'node:assert/strict'
import { basename, dirname } from 'node:path'
import { describe, it } from 'node:test'
import { isOnPath } from './on-path.ts'

describe('a program', () => {
  it('is found by its path, if it may be executed', () => {
    assert.equal(isOnPath(process.execPath), true)
    assert.equal(isOnPath(import.meta.filename), false, 'no program')
    assert.equal(isOnPath(`${process.execPath}-there-is-none`), false)
  })

  it('is looked for in the folders of PATH', () => {
    const before = process.env['PATH']
    try {
      process.env['PATH'] = `/there/is/none:${dirname(process.execPath)}`
      assert.equal(isOnPath(basename(process.execPath)), true)
      process.env['PATH'] = '/there/is/none'
      assert.equal(isOnPath(basename(process.execPath)), false)
    } finally {
      process.env['PATH'] = before
    }
  })
})
