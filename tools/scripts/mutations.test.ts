/** Which places of a source are changed, and what they are changed to. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { mutationsOf } from './mutations.ts'

/** The changes to a line in the middle of a function. */
function changed(line: string): string[] {
  return mutationsOf(`function f() {\n${line}\n}`).map(({ after }) => after.trim())
}

describe('mutationsOf', () => {
  it('changes operators, booleans and numbers, one at a time', () => {
    assert.deepEqual(changed('  if (a === 1 && b) {'), [
      'if (a !== 1 && b) {',
      'if (a === 1 || b) {',
      'if (a === 2 && b) {'
    ])
    assert.deepEqual(changed('  return n++ < 5_000 ? true : x'), [
      'return n++ <= 5_000 ? true : x',
      'return n-- < 5_000 ? true : x',
      'return n++ < 5_000 ? false : x',
      'return n++ < 5001 ? true : x'
    ])
  })

  it('removes statements that are complete on one line', () => {
    assert.deepEqual(changed('  this.#timer.stop()'), [''])
    assert.deepEqual(changed('  if (isOver) return done'), [''])
    assert.deepEqual(changed('  count += size'), ['count -= size', ''])
    assert.deepEqual(changed('  call('), [])
    assert.deepEqual(changed('  const a = b()'), [])
    assert.deepEqual(mutationsOf('  promise()\n    .then(a)').length, 0)
  })

  it('leaves comments, types, texts and type arguments alone', () => {
    for (const line of [
      '  // 1 + 1 === 2',
      'const MAX_SIZE = 64 * 1024',
      "  return 'a === 1'",
      '  const a: Map<number, Set<string>> = b',
      '  readonly size?: 5',
      '  readonly #parity: 0 | 1',
      'function of(parity: 0 | 1, name: 5 | undefined): true | false {'
    ])
      assert.deepEqual(changed(line), [], line)
    assert.deepEqual(
      mutationsOf('/**\n * 1 + 1\n */\nexport interface A {\n  a(): true\n}\ntype B =\n  | 1\n  | 2\n'),
      []
    )
  })

  it('changes the values of fields', () => {
    assert.deepEqual(changed('  readonly #parity: 0 | 1 = 0'), ['readonly #parity: 0 | 1 = 1'])
    assert.deepEqual(changed('  return isOdd ? 1 : 0'), ['return isOdd ? 2 : 0', 'return isOdd ? 1 : 1'])
  })

  it('gives the line, and the whole changed source', () => {
    const [mutation] = mutationsOf('let a\na = 5\nlet b')
    assert.deepEqual(
      [mutation?.line, mutation?.before, mutation?.changed],
      [2, 'a = 5', 'let a\na = 6\nlet b']
    )
  })
})
