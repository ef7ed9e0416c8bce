import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { INPUT_WINDOW, InputStream } from './input-stream.ts'

const MEBIBYTE = 1024 * 1024

/** Makes an input stream and a list of the demand that it has granted to its sender. */
function open() {
  const asked: number[] = []
  const input = new InputStream(
    (n) => asked.push(n),
    () => {}
  )
  return { input, asked, granted: () => asked.reduce((sum, n) => sum + n, 0) }
}

describe('the input of a channel', () => {
  it('asks for 4 values at first, for up to 64 while small ones come, and for more when half of them are read', async () => {
    const { input, asked, granted } = open()
    input.push('first', 10)
    assert.deepEqual(asked, [4])
    for (let n = 0; n < 64; n++) input.push(n, 10)
    assert.equal(granted(), 64)
    for (let n = 0; n < 31; n++) await input.next()
    assert.equal(granted(), 64)
    await input.next()
    assert.equal(granted(), 96)
  })

  it('asks for 4 where no value came with the request', () => {
    const { input, asked } = open()
    input.ask()
    assert.deepEqual(asked, [4])
  })

  it('takes 16 MiB and one value that are not read, however many small ones came before', async () => {
    const { input, granted } = open()
    for (let n = 0; n < 1_000; n++) {
      assert.equal(input.push(n, 10), true)
      await input.next()
    }
    assert.ok(granted() - 1_000 >= 32)
    const taken = Array.from({ length: 32 }, (_, n) => input.push(n, MEBIBYTE))
    assert.equal(taken.filter(Boolean).length, 16)
    await input.next()
    assert.equal(input.push('again', MEBIBYTE), true)
  })

  it('asks for as many large values as 1 MiB holds, and for one that is larger', async () => {
    const four = open()
    four.input.push('large', MEBIBYTE / 4)
    assert.deepEqual(four.asked, [4])
    const one = open()
    one.input.push('larger', 3 * MEBIBYTE)
    assert.deepEqual(one.asked, [1])
    one.input.push('the next', 3 * MEBIBYTE)
    await one.input.next()
    assert.deepEqual(one.asked, [1, 1])
  })

  it('asks for fewer when values grow, and for more again when they have become small', async () => {
    const { input, granted } = open()
    input.push(0, 10)
    let sent = 1
    const sendAndRead = async (count: number, size: number) => {
      for (let n = 0; n < count; n++) {
        assert.ok(sent <= granted(), 'asked for')
        input.push(sent++, size)
        await input.next()
      }
    }
    await sendAndRead(100, MEBIBYTE / 2)
    assert.ok(granted() - sent <= 2, String(granted() - sent))
    await sendAndRead(200, 10)
    assert.ok(granted() - sent >= INPUT_WINDOW / 2 - 1, String(granted() - sent))
  })

  it('never lets a sender wait that has sent all it was asked for, once that is read', () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 2 * MEBIBYTE }), {
      minLength: 1,
      maxLength: 200,
      size: 'max'
    })
    return fc.assert(
      fc.asyncProperty(sizes, async (all) => {
        const { input, granted } = open()
        let sent = 0
        let read = 0
        for (const size of all) {
          // The first value comes with the request.
          for (; read < sent && sent > granted(); read++) await input.next()
          assert.ok(sent <= granted(), `${sent} of ${granted()}`)
          assert.equal(input.push(sent++, size), true)
        }
      })
    )
  })

  it('refuses values of a sender that does not count', () => {
    const { input } = open()
    const taken = Array.from({ length: 200 }, (_, n) => input.push(n, 10))
    assert.equal(taken.filter(Boolean).length, 2 * INPUT_WINDOW)
    const large = open().input
    const few = Array.from({ length: 200 }, (_, n) => large.push(n, MEBIBYTE))
    assert.equal(few.filter(Boolean).length, 16)
  })
})
