/** The programs of the page: who may see and do what. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Programs, ProgramView } from '../programs.ts'
import { ProgramsOfPage } from './programs.ts'

const STOCK: ProgramView = {
  name: 'stock',
  state: 'ready',
  ports: ['4000'],
  starts: 1,
  since: 0,
  services: ['stock']
}

/** The source, and what it has done and logged. */
function sourceOf(canTry: boolean) {
  const [acts, logged]: [string[], string[]] = [[], []]
  let all: readonly ProgramView[] = [STOCK]
  const programs: Programs = {
    list: () => all,
    lines: (name, after) => ({ last: after + 1, lines: [{ number: after + 1, at: 0, text: name }] }),
    environment: () => [['PORT', '4000']],
    act: (name, action) => acts.push(`${action} ${name}`)
  }
  const logger = { error() {}, warn: (line: string) => void logged.push(line) }
  const source = new ProgramsOfPage(programs, { clients: () => new Map(), canTry, programs, logger })
  const become = (...next: readonly ProgramView[]) => {
    all = next
  }
  return { source, acts, logged, become }
}

describe('the programs of a page', () => {
  it('show their lines to everybody who may open it, and the rest to those who may change something', () => {
    const { source, acts } = sourceOf(false)
    assert.deepEqual(source.latest(), { programs: [STOCK] })
    assert.deepEqual(source.ask({ name: 'stock', action: 'lines', after: 7 }), {
      last: 8,
      lines: [{ number: 8, at: 0, text: 'stock' }]
    })
    for (const action of ['environment', 'start', 'stop', 'restart'])
      assert.throws(() => source.ask({ name: 'stock', action }), /The console is read-only: the option try/)
    assert.deepEqual(acts, [])
  })

  it('are stopped and started, with a line in the log', () => {
    const { source, acts, logged } = sourceOf(true)
    for (const action of ['stop', 'start', 'restart'])
      assert.deepEqual(source.ask({ name: 'stock', action }), { done: action })
    assert.deepEqual(acts, ['stop stock', 'start stock', 'restart stock'])
    assert.equal(logged[0], 'The page was asked to stop stock')
    assert.deepEqual(source.ask({ name: 'stock', action: 'environment' }), [['PORT', '4000']])
  })

  it('refuse requests that no page makes', () => {
    const { source, acts } = sourceOf(true)
    for (const [question, says] of [
      [{ name: 'sh', action: 'start' }, /There is no such program/],
      [{ name: ['stock'], action: 'start' }, /There is no such program/],
      [undefined, /There is no such program/],
      [{ name: 'stock', action: 'kill' }, /action must be lines, environment, start, stop or restart/],
      [{ name: 'stock', action: 'toString' }, /action must be/],
      [{ name: 'stock', action: 'lines', after: '1' }, /after must be the number of a line/]
    ] as const)
      assert.throws(() => source.ask(question), says)
    assert.deepEqual(acts, [])
  })

  it('are told again only when something has changed', () => {
    const { source, become } = sourceOf(true)
    let told = 0
    source.begin(() => told++)
    source.sampled()
    source.sampled()
    assert.equal(told, 1)
    become({ ...STOCK, state: 'crashed', problem: 'no settings' })
    source.sampled()
    assert.equal(told, 2)
  })
})
