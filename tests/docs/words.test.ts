/** Every thing that several transports have is called by one word, the word of the table in docs/services.md. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OWN, optionNames, THINGS, type TransportName, wordsFor } from '../engines/words.ts'

describe('the words of options over all transports', () => {
  it('are those of the table, or of a thing that only one transport has', async () => {
    for (const [transport, names] of Object.entries(await optionNames())) {
      const of = transport as TransportName
      const known = [...THINGS.flatMap((thing) => wordsFor(thing, of, names)), ...OWN[of]]
      const groups = known.map((name) => name.replace(/\..*$/, ''))
      const unknown = names.filter((name) => !groups.includes(name))
      assert.deepEqual(
        unknown,
        [],
        `options of ${transport}: are they things of the table in tests/engines/words.ts?`
      )
      const gone = groups.filter((name) => !names.includes(name))
      assert.deepEqual(gone, [], `no longer options of ${transport}`)
    }
  })

  it('are not those of two things', () => {
    const own = Object.values(OWN).flat()
    assert.deepEqual(
      own.filter((name, index) => own.indexOf(name) !== index),
      [],
      'options of two transports are things of the table'
    )
    const words = THINGS.map(({ word }) => word)
    assert.equal(new Set(words).size, words.length)
  })
})
