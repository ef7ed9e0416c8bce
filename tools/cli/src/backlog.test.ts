import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { memory, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { readArguments } from './arguments.ts'
import { backlogOf } from './backlog.ts'

const URL = 'nats://localhost:1'

describe('the command backlog', () => {
  const transport = memory()
  const client = connect({ transport })
  after(() => client.close())

  async function run(...line: string[]) {
    const printed: string[] = []
    const args = await readArguments(['backlog', ...line], async () => '')
    assert.ok(typeof args === 'object' && 'group' in args)
    const out = (text: string) => void printed.push(text)
    const code = await backlogOf(client, args, { out, error: out, isTerminal: false, json: args.json })
    return { code, text: printed.join('\n') }
  }

  it('lists what waits for a group', async () => {
    const logger = { error() {}, warn() {} }
    const service = microservice({ name: 'mail', transport, logger })
    service.event('mails.sent', () => {}, { durable: true })
    await service.listen()
    after(() => service.stop())
    await client.group('mail').pause()
    assert.deepEqual(await run(URL, 'mail'), { code: 0, text: 'No events wait for the group' })
    await client.publish('mails.sent', { to: 7 }, { id: 'a\u202e', key: 'k' })
    await client.publish('mails.sent', 2, { id: 'b' })
    const { text } = await run(URL, 'mail')
    assert.match(
      text,
      /^position +published +pattern +id +key +state +attempts\n1 +\S+Z +mails.sent +a\\u202e +k +waiting +0\n/
    )
    const json = (await run(URL, 'mail', '--json', '--count', '1')).text.split('\n')
    assert.equal(json.length, 1)
    const { position, data, state } = JSON.parse(json[0] ?? '') as Record<string, unknown>
    assert.deepEqual([position, data, state], ['1', { to: 7 }, 'waiting'])
  })

  it('says how many events a store has that it does not list', async () => {
    const group = { async *backlog() {}, lag: async () => 5 }
    const printed: string[] = []
    const out = (text: string) => void printed.push(text)
    const args = await readArguments(['backlog', URL, 'mail'], async () => '')
    const client = { connect: async () => {}, group: () => group } as never
    await backlogOf(client, args as never, { out, error: out, isTerminal: false, json: false })
    assert.deepEqual(printed, ['5 more: in a process, or in a pause; this store does not list those'])
  })

  it('refuses a line without a group, or with more than one', async () => {
    const wrong = async (...line: string[]) => readArguments(['backlog', ...line], async () => '')
    await assert.rejects(wrong(URL), /backlog needs the name of a group after the url/)
    await assert.rejects(wrong(URL, 'a', 'b'), /does not take the argument b/)
  })
})
