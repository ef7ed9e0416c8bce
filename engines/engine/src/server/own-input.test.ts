import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OwnInput } from './own-input.ts'

function begin() {
  const said: string[] = []
  let losses = 0
  const input = new OwnInput({ say: (words) => void said.push(words), inputLost: () => losses++ })
  return { input, said, losses: () => losses }
}

/** Reads an input to its end. */
async function read({ stream }: OwnInput): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const value of stream) values.push(value)
  return values
}

const LOST = { code: 'CONNECTION', mayHaveRun: true }

describe('the input of a channel', () => {
  it('has each value once, whatever comes twice', async () => {
    const { input, losses } = begin()
    for (const word of ['1 "a"', '1 "a"', '2 ', '1 "a"']) input.take(word)
    input.expect(2)
    input.end(2)
    input.end(2)
    input.expect(3)
    assert.deepEqual(await read(input), ['a', undefined])
    assert.equal(losses(), 0)
  })

  it('is lost if a value is missing, at the next value, at the end, or at what the caller tells', async () => {
    for (const later of [
      (input: OwnInput) => input.take('3 3'),
      (input: OwnInput) => input.end(2),
      (input: OwnInput) => input.expect(2)
    ]) {
      const { input, losses } = begin()
      input.take('1 1')
      later(input)
      assert.equal(losses(), 1)
      input.expect(9)
      await assert.rejects(read(input), LOST)
      assert.equal(losses(), 1)
    }
  })

  it('is lost if only its end is missing', async () => {
    const { input, losses } = begin()
    input.take('1 1')
    input.expect(2)
    await assert.rejects(read(input), LOST)
    assert.equal(losses(), 1)
  })

  it('misses no part of a value behind its end', async () => {
    const { input, losses } = begin()
    input.take('1 1')
    input.end(1)
    // A part of a word that comes twice is lost.
    input.lose()
    assert.deepEqual([await read(input), losses()], [[1], 0])
    const other = begin()
    other.input.lose()
    other.input.lose()
    await assert.rejects(read(other.input), LOST)
    assert.equal(other.losses(), 1)
  })

  it('does not miss what nobody reads any more', async () => {
    const { input, said, losses } = begin()
    input.take('1 1')
    await input.stream.return()
    input.expect(5)
    input.take('7 7')
    input.end(9)
    assert.equal(losses(), 0)
    assert.deepEqual([said.at(-1), input.sign], ['s', 's'])
  })

  it('repeats what it has granted with each sign of life, and grants nothing more at its end', () => {
    const { input, said } = begin()
    input.grant(4)
    assert.deepEqual([said, input.sign], [['i4'], 'i4'])
    input.take('1 1')
    input.end(1)
    assert.equal(input.sign, 'a')
  })

  it('that is malformed fails, and is not taken for lost', async () => {
    for (const word of ['1 {', `1 ${'['.repeat(10_000)}`]) {
      const { input, losses } = begin()
      input.take(word)
      await assert.rejects(read(input), { message: 'A value of the channel is not JSON' })
      assert.equal(losses(), 0)
    }
    const { input, losses } = begin()
    for (const word of ['', 'x 1', '-1 1', '1e3 1']) input.take(word)
    input.end(-1)
    input.end(0)
    assert.deepEqual(await read(input), [])
    assert.equal(losses(), 0)
  })
})
