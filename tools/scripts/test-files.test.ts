/** Tests that each test file runs on the right gate. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compiled, type Gate, runsOnNode, suitesOf } from './test-files.ts'

const FILES = [
  'examples/shop/shop.test.ts',
  'packages/tcp/src/client/pool.test.ts',
  'packages/tcp/src/closing.slow.test.ts',
  'tests/conformance/server.test.ts',
  'tests/interop/java.nightly.test.ts',
  'tests/nats/nest.test.ts',
  'tools/scripts/counts.test.ts'
]
const filesOf = (gate: Gate) => suitesOf(gate, FILES).flatMap(({ files }) => files)

describe('the gates', () => {
  it('run tests in check that are quick, need no engine and start no processes', () => {
    assert.deepEqual(filesOf('check'), [FILES[1], FILES[3], FILES[6]])
  })

  it('run everything but nightly tests in test, and everything at night', () => {
    assert.deepEqual(
      filesOf('test'),
      FILES.filter((file) => !file.includes('nightly'))
    )
    assert.deepEqual(filesOf('nightly'), FILES)
  })
})

describe('suitesOf', () => {
  it('makes one suite of each package, example and topic, and one of the scripts', () => {
    assert.deepEqual(
      suitesOf('nightly', FILES).map(({ kind, name, folder }) => [kind, name, folder]),
      [
        ['examples', 'shop', 'examples/shop'],
        ['unit', 'tcp', 'packages/tcp'],
        ['system', 'conformance', 'tests'],
        ['system', 'interop', 'tests'],
        ['system', 'nats', 'tests'],
        ['unit', 'scripts', 'tools/scripts']
      ]
    )
  })
})

describe('Node', () => {
  it('runs tests on each push that depend on its sockets, timers and drivers, and all tests at night', () => {
    const torture = 'packages/outbox/src/torture.slow.test.ts'
    const commands = 'tests/observability/cli-engines.test.ts'
    const inbox = 'packages/outbox/src/inbox.slow.test.ts'
    assert.deepEqual(
      [torture, commands, inbox].map((file) => runsOnNode('test', file)),
      [false, false, true]
    )
    assert.deepEqual(
      [torture, commands].map((file) => runsOnNode('nightly', file)),
      [true, true]
    )
  })
})

describe('compiled', () => {
  it('is the path to which tsc compiles a test', () => {
    assert.equal(compiled('packages/tcp/src/client/pool.test.ts'), 'packages/tcp/dist/client/pool.test.js')
    assert.equal(compiled('tests/nats/nest.test.ts'), 'tests/dist/nats/nest.test.js')
    assert.equal(compiled('examples/shop/shop.test.ts'), 'examples/shop/dist/shop.test.js')
    assert.throws(() => compiled('tools/scripts/counts.test.ts'), /not part of any compiled project/)
  })
})
