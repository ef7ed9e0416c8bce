/** Pages agree with the list of engines, and the documented example engine is the one that the tests run. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { partsOfPages, withPart } from '../engines/docs.ts'

const parts = await partsOfPages()

describe('what the documentation says of engines', () => {
  for (const part of parts)
    it(`is up to date: ${part.name} in ${part.page}`, () => {
      const { is, shouldBe } = withPart(part)
      assert.equal(is, shouldBe, 'run `bun tests/engines/docs.ts --write`')
    })
})
