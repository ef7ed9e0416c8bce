import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { prepareOthers } from '../process/others.ts'
import { measureInstallations } from './installations.ts'

before(() => prepareOthers(['bun']))

describe('an installation', () => {
  it('of each peer has a size, ours the size of the published packages', async () => {
    const sizes = await measureInstallations()
    for (const { target, bytes, files, packages } of sizes) {
      assert.ok(bytes > 100_000 && files > 10 && packages > 0, target)
    }
    const packed = sizes.filter(({ packedBytes }) => packedBytes > 0).map(({ target }) => target)
    assert.deepEqual(packed, ['elysia', 'nest-strategy'])
  })
})
