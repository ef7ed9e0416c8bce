import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { LineSplitter, Lines, usesColours } from './lines.ts'

function written(hasColours: boolean, use: (lines: Lines) => void): string {
  let text = ''
  const write = (part: string) => {
    text += part
    return true
  }
  use(new Lines({ write, once() {} }, hasColours, ['orders', 'web']))
  return text
}

describe('lines', () => {
  it('have the names of their programs in front, one below the other', () => {
    assert.equal(
      written(false, (lines) => {
        lines.add('orders', 'one')
        lines.add('web', 'two')
        lines.say('three')
      }),
      'orders | one\nweb    | two\ndev    | three\n'
    )
  })

  it('have colours of their own on a terminal, and keep those of programs', () => {
    const text = written(true, (lines) => lines.add('web', '\u001b[32mgreen'))
    assert.equal(text, '\u001b[33mweb    |\u001b[0m \u001b[32mgreen\u001b[0m\n')
  })

  it('lose what else a terminal obeys, and without colours these, too', () => {
    const hostile = '\u001b[2J\u001b[31mred\u001b[0m\u0007\u001b]0;title\u0007\tend'
    assert.equal(
      written(true, (lines) => lines.add('web', hostile)),
      '\u001b[33mweb    |\u001b[0m \u001b[31mred\u001b[0m\\u0007\tend\u001b[0m\n'
    )
    assert.equal(
      written(false, (lines) => lines.add('web', hostile)),
      'web    | red\\u0007\tend\n'
    )
  })

  it('are dropped when nobody reads them', () => {
    assert.equal(
      written(false, (lines) => {
        lines.close()
        lines.say('unread')
      }),
      ''
    )
  })

  it('wait for one that reads slowly', () => {
    let drained = () => {}
    let rooms = 0
    const output = {
      write: () => false,
      once(_event: 'drain', listener: () => void) {
        drained = listener
      }
    }
    const lines = new Lines(output, false, [])
    lines.say('full')
    assert.equal(lines.isFull, true)
    lines.onRoom(() => rooms++)
    drained()
    assert.deepEqual([lines.isFull, rooms], [false, 1])
  })
})

describe('usesColours', () => {
  for (const [isTerminal, env, expected] of [
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: '1' }, false],
    [true, { NO_COLOR: '' }, true],
    [true, { TERM: 'dumb' }, false],
    [false, { FORCE_COLOR: '1' }, true],
    [true, { FORCE_COLOR: '0' }, false],
    [false, { FORCE_COLOR: '1', NO_COLOR: '1' }, false]
  ] as const)
    it(`is ${expected} ${isTerminal ? 'on' : 'without'} a terminal with ${JSON.stringify(env)}`, () => {
      assert.equal(usesColours(isTerminal, env), expected)
    })
})

describe('LineSplitter', () => {
  it('finds the same lines however the bytes are cut', () => {
    const line = fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => text.replaceAll(/[\r\n]/g, ' '))
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 10 }),
        fc.array(fc.nat(200)),
        fc.boolean(),
        (all, cuts, isWindows) => {
          const bytes = Buffer.from(all.map((each) => each + (isWindows ? '\r\n' : '\n')).join(''))
          const found: string[] = []
          const splitter = new LineSplitter((each) => found.push(each))
          const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length]
          for (const [index, place] of places.entries())
            splitter.add(bytes.subarray(places[index - 1] ?? 0, place))
          splitter.end()
          assert.deepEqual(found, all)
        }
      )
    )
  })

  it('breaks a line that does not end, and gives the last one without an end', () => {
    const found: number[] = []
    const splitter = new LineSplitter((line) => found.push(line.length))
    for (let n = 0; n < 5; n++) splitter.add(Buffer.alloc(10_000, 'a'))
    splitter.end()
    assert.equal(
      found.reduce((sum, length) => sum + length, 0),
      50_000
    )
    assert.ok(Math.max(...found) <= 16_384)
  })
})
