import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LeftBehind } from './left-behind.ts'

interface Group {
  readonly lag: number
  readonly pending?: number
  /** Milliseconds since each process has asked for events. */
  readonly idle?: readonly number[]
}

/** A server with these groups by stored pattern, and these durable handlers. */
function server(
  stored: Readonly<Record<string, Readonly<Record<string, Group>>>>,
  handlers: readonly string[] = []
) {
  const groupsOf = async (stream: string) => {
    const groups = stored[stream.slice('_elysia:{events}:s:'.length)]
    if (groups === undefined) throw Object.assign(new Error('ERR no such key'), { name: 'ReplyError' })
    return groups
  }
  const store = {
    handlers: async () => [...handlers],
    patterns: async () => Object.fromEntries(Object.keys(stored).map((pattern) => [pattern, ''])),
    groups: async (stream: string) =>
      Object.entries(await groupsOf(stream)).map(([name, { lag, pending = 0 }]) => ({ name, lag, pending })),
    idle: async (stream: string, group: string) => (await groupsOf(stream))[group]?.idle ?? []
  }
  const lines: string[] = []
  const logger = {
    error: (line: string) => void lines.push(line),
    warn: (line: string) => void lines.push(line)
  }
  return { left: new LeftBehind(store, logger), lines }
}

describe('groups that a service has left behind', () => {
  it('are named when a new group begins beside them, with the number of events and the command', async () => {
    const { left, lines } = server({
      'p.q': { new: { lag: 0 }, old: { lag: 7, pending: 2, idle: [90_000] } }
    })
    await left.sayOfStream('p.q', 'new', false)
    assert.deepEqual(lines, [
      "9 events 'p.q' wait for the group 'old', which no process handles at the moment; the group 'new' is new and does not get them. If a service was renamed, give its handler durable.group 'old'. If nobody needs the group any more, remove it: redis-cli XGROUP DESTROY '_elysia:{events}:s:p.q' 'old'; redis-cli HDEL '_elysia:{events}:groups' 'old p.q'"
    ])
    await left.sayOfStream('p.q', 'new', true)
    assert.doesNotMatch(lines[1] ?? '', /does not get them/)
  })

  it('are never those that a process uses, however many events wait, and none without events', async () => {
    const { left, lines } = server({
      p: { new: { lag: 0 }, busy: { lag: 900, pending: 50, idle: [120_000, 4_000] }, done: { lag: 0 } }
    })
    await left.sayOfStream('p', 'new', false)
    await left.sayOfStream('unknown', 'new', false)
    assert.deepEqual(lines, [])
  })

  it('are named at the start when a handler was removed or its pattern became narrower', async () => {
    const groups = { g: { lag: 1 } }
    const { left, lines } = server(
      { 'a.b': groups, 'a.c': groups, gone: groups, shared: groups, live: { g: { lag: 5, idle: [10] } } },
      ['g a.*', 'g a.b', 'g gone', "g it's", 'g live', 'other shared']
    )
    await left.sayOfGroups([{ group: 'g', pattern: 'a.b' }])
    assert.deepEqual(
      lines.map((line) => line.slice(0, line.indexOf(' for it'))),
      [
        "The group 'g' handled 'a.*' until now, and no process does any more: 1 event 'a.c' waits",
        "The group 'g' handled 'gone' until now, and no process does any more: 1 event 'gone' waits"
      ]
    )
    assert.match(
      lines[0] ?? '',
      /XGROUP DESTROY '_elysia:\{events\}:s:a\.c' 'g'; redis-cli HDEL \S+ 'g a\.\*'$/
    )
  })

  it('are not looked for without the right to ask', async () => {
    const refuse = async (): Promise<never> => {
      throw Object.assign(new Error('NOPERM'), { name: 'ReplyError' })
    }
    const lines: string[] = []
    const logger = { error() {}, warn: (line: string) => void lines.push(line) }
    const left = new LeftBehind({ handlers: refuse, patterns: refuse, groups: refuse, idle: refuse }, logger)
    await left.sayOfGroups([{ group: 'g', pattern: 'p' }])
    await left.sayOfStream('p', 'g', false)
    assert.deepEqual(lines, [])
  })
})
