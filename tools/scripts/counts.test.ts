/** The summaries of several test runners, copied from their output. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { countsIn, endInWords, failedTests, withoutPassed } from './counts.ts'

const BUN = `(pass) a > b [1.03ms]
error: x
(fail) a > c [0.94ms]

 1,000 pass is part of a sentence
 46 pass
 2 skip
 1 fail
Ran 49 tests across 1 file. [391.00ms]`
const NODE = `✔ a (12.8ms)
▶ b
  ✔ passes (0.1ms)
ℹ tests 513
ℹ suites 90
ℹ pass 507
ℹ fail 2
ℹ cancelled 1
ℹ skipped 3
ℹ todo 0
✖ failing tests:`
const DENO = `a ...
  b ... ok (0ms)
  c ... FAILED (1ms)
\u001b[0m\u001b[31mFAILED\u001b[0m | 0 passed (2 steps) | 1 failed (1 step) | 4 ignored (1 step) \u001b[0m(19ms)`

describe('countsIn', () => {
  for (const [runner, output, counts] of [
    ['Bun', BUN, { passed: 46, failed: 1, skipped: 2 }],
    ['Node, where cancelled tests have failed', NODE, { passed: 507, failed: 3, skipped: 3 }],
    ['Deno, by its tests', DENO, { passed: 0, failed: 1, skipped: 4 }],
    [
      'Deno without failures',
      'ok | 30 passed (2409 steps) | 0 failed (12s)',
      { passed: 30, failed: 0, skipped: 0 }
    ],
    ['a runner that crashed', 'Segmentation fault', { passed: 0, failed: 0, skipped: 0 }]
  ] as const)
    it(`reads ${runner}`, () => assert.deepEqual(countsIn(output), counts))
})

describe('withoutPassed', () => {
  it('leaves out passed tests, and colours', () => {
    assert.equal(withoutPassed(BUN).split('\n')[0], 'error: x')
    assert.equal(withoutPassed(NODE).split('\n')[0], '▶ b')
    assert.deepEqual(withoutPassed(DENO).split('\n').slice(0, 2), ['a ...', '  c ... FAILED (1ms)'])
  })
})

describe('the output of a failed job', () => {
  const output = [
    'src/a.test.ts:',
    '(pass) one [1.00ms]',
    '',
    'src/b.test.ts:',
    'error: expected 1',
    '(fail) two > is right [2.10ms]',
    '',
    'src/c.test.ts:',
    '(pass) three'
  ].join('\n')

  it('has the failed tests, and only the files that have some', () => {
    assert.deepEqual(failedTests(output), ['two > is right'])
    assert.equal(withoutPassed(output), 'src/b.test.ts:\nerror: expected 1\n(fail) two > is right [2.10ms]')
  })

  it('is read from Node, too', () => {
    assert.deepEqual(failedTests('✔ one (1ms)\n✖ two (3.2ms)\n✖ failing tests:\n✖ two (3.2ms)'), ['two'])
  })
})

describe('a command that fails without a failed test', () => {
  const end = { code: 1, signal: null, limit: undefined, stdout: '▶ a\n  ✔ one (1ms)\n', stderr: '' }

  it('is told by its code, or the signal, and the last test', () => {
    const last = 'The last test that has ended: ✔ one (1ms)'
    assert.equal(
      endInWords(end),
      `No test has failed, but the command has ended with code 1\n  ${last}\n  Nothing is in its error output`
    )
    const killed = endInWords({ ...end, code: null, signal: 'SIGKILL', stderr: 'Killed\n' })
    assert.match(killed, /has ended by SIGKILL\n.*\n {2}The end of its error output:\n {2}Killed$/)
    assert.match(endInWords({ ...end, limit: 600 }), /^The command was ended after its limit of 600 s\n/)
  })

  it('is told by what Node says of errors after the end of a test, and the end of the error output', () => {
    const late = 'ℹ Error: Test "one" at a.ts:1:1 generated asynchronous activity after the test ended.'
    const stderr = [...Array(20).keys()].map((n) => `line ${n}`).join('\n')
    const told = endInWords({ ...end, stdout: `${end.stdout}${late}\nℹ tests 1`, stderr }).split('\n  ')
    assert.deepEqual([told[2], told.at(-1), told.length], [late, 'line 19', 12])
  })
})
