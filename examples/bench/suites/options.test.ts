import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { UsageError } from '../errors.ts'
import { suiteNames } from '../task/task.ts'
import { suites } from './catalog.ts'
import {
  isSuite,
  readSuiteComparison,
  readSuiteOptions,
  suiteComparisonUsage,
  suiteUsage
} from './options.ts'

const refused = (read: (argv: readonly string[]) => unknown, argv: string[], words: RegExp) =>
  assert.throws(
    () => read(argv),
    (error) => error instanceof UsageError && words.test(error.message)
  )

describe('a measurement of a suite', () => {
  for (const [argv, words] of [
    [[], /^--suite: missing, expected http or pairs or db or scale or web$/],
    [['--suite=tcp'], /^--suite: got 'tcp', expected http or pairs or db or scale or web$/],
    [['--suite=http'], /^--target: missing, expected bun or node or elysia /],
    [['--suite=http', '--target=rails'], /^--target: got 'rails', expected bun or /],
    [['--suite=http', '--target=bun', '--workload=upload'], /^--workload: got 'upload', expected hello or /],
    [['--suite=http', '--target=elit'], /^--target: got 'elit', which cannot be installed: .*404/],
    [['--suite=http', '--target=node', '--workload=router'], /^--workload: .* node:http has no router$/],
    [
      ['--suite=http', '--target=wynkjs', '--runtime=node'],
      /^--runtime: got 'node' for wynkjs, expected bun$/
    ],
    [['--suite=http', '--target=fiber', '--runtime=bun'], /^--runtime: got 'bun' for fiber, expected go$/],
    [['--suite=http', '--target=bun', '--tool=ab'], /^--tool: got 'ab', expected wrk or autocannon$/],
    [['--suite=http', '--target=bun', '--workers=0'], /^--workers: got '0'/]
  ] as const) {
    it(`refuses ${argv.join(' ') || 'nothing at all'}, and says what is expected`, () =>
      refused(readSuiteOptions, [...argv], words))
  }

  it('has defaults', () => {
    const options = readSuiteOptions(['--suite=http', '--target=node'])
    assert.ok(options !== 'help')
    const { workload, runtime, concurrency, duration, warmup, workers, name, port } = options
    assert.deepEqual([workload, runtime, concurrency, duration], ['hello', 'node', 100, 10])
    assert.deepEqual([warmup, workers, name, port], [1, 1, 'node', 0])
  })

  it('returns its flags', () => {
    assert.equal(readSuiteOptions(['--help']), 'help')
    assert.match(suiteUsage, /--workload /)
  })
})

describe('a suite', () => {
  for (const [argv, words] of [
    [['--suite=tcp'], /^--suite: got 'tcp', expected http or pairs or db or scale or web$/],
    [
      ['--suite=http', '--workloads=hello,upload'],
      /^--workloads: got 'upload', expected one or more of hello, /
    ],
    [['--suite=db', '--targets=rails'], /^--targets: got 'rails', expected one or more of service, /],
    [['--suite=db', '--mode=stream'], /Unknown option '--mode'.* Allowed: --suite /]
  ] as const) {
    it(`refuses ${argv.join(' ')}, and says what is expected`, () =>
      refused(readSuiteComparison, [...argv], words))
  }

  for (const suite of suiteNames) {
    it(`${suite} has all its targets and workloads, and its own times`, () => {
      const options = readSuiteComparison([`--suite=${suite}`])
      assert.ok(options !== 'help')
      assert.deepEqual(options.targets, Object.keys(suites[suite].targets))
      assert.deepEqual(options.workloads, Object.keys(suites[suite].workloads))
      assert.deepEqual([options.duration, options.isShortened], [suites[suite].duration, false])
      assert.match(suiteComparisonUsage, new RegExp(`^${suite}: `, 'm'))
    })
  }

  it('keeps its own order for any order in a flag', () => {
    const options = readSuiteComparison(['--suite=http', '--targets=fiber,bun', '--workloads=post,hello'])
    assert.ok(options !== 'help')
    assert.deepEqual(
      [options.targets, options.workloads],
      [
        ['bun', 'fiber'],
        ['hello', 'post']
      ]
    )
  })

  it('is recognised by its flag at any position', () => {
    assert.deepEqual([['--suite=http'], ['--runs=1', '--suite', 'db'], ['--mode=stream'], []].map(isSuite), [
      true,
      true,
      false,
      false
    ])
  })
})
