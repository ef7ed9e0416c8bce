import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { memory, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { readArguments } from './arguments.ts'
import { waitingOf } from './waiting.ts'

const URL = 'redis://localhost:1'

describe('the command waiting', () => {
  const transport = memory()
  const service = microservice({ name: 'shop', transport })
  const client = connect({ transport })
  before(() => service.listen())
  after(async () => {
    await client.close()
    await service.stop()
  })
  const at = new Date('2100-01-01T00:00:00Z')

  async function run(...line: string[]) {
    const printed: string[] = []
    const args = await readArguments(['waiting', ...line], async () => '')
    assert.ok(typeof args === 'object' && 'waiting' in args)
    const out = (text: string) => void printed.push(text)
    const output = { out, error: out, isTerminal: false, json: args.json }
    const code = await waitingOf(client, args, output)
    return { code, text: printed.join('\n') }
  }

  it('lists what waits and recurs, cancels it, and delivers it now', async () => {
    assert.equal((await run('list', URL)).text, 'No events wait for their time')
    await client.publish('carts.remind', { cart: 7 }, { id: 'a\u202e', key: 'k', at })
    await client.publish('carts.remind', { cart: 8 }, { id: 'b', at })
    await client.schedule('news', 'mails.news', {}, { cron: '0 8 * * *', timeZone: 'UTC' })
    const { text, code } = await run('list', URL)
    assert.equal(code, 0)
    assert.match(text, /^time +pattern +id +key +recurs\n/)
    assert.match(text, /mails\.news .*0 8 \* \* \* in UTC, schedule news\n/)
    assert.match(text, /2100-01-01T00:00:00\.000Z +carts\.remind +a\\u202e +k\n/)
    const [first = ''] = (await run('list', URL, 'carts.remind', '--json', '--count', '1')).text.split('\n')
    assert.deepEqual(JSON.parse(first), {
      pattern: 'carts.remind',
      id: 'a\u202e',
      key: 'k',
      at: at.toISOString(),
      headers: {},
      data: { cart: 7 }
    })
    assert.deepEqual(await run('cancel', URL, 'carts.remind', 'a\u202e', 'none'), {
      code: 1,
      text: 'a\\u202e: cancelled\nnone: not waiting'
    })
    assert.deepEqual(await run('fire', URL, 'carts.remind', 'b'), { code: 0, text: 'b: comes now' })
    assert.equal((await run('list', URL, 'carts.remind')).text, 'No events wait for their time')
  })

  it('refuses arguments that make no sense, before anything is sent', async () => {
    for (const [line, words] of [
      [['waiting'], /one of list, cancel, fire/],
      [['waiting', 'list'], /needs a url/],
      [['waiting', 'list', URL, 'p', 'id'], /does not take ids/],
      [['waiting', 'fire', URL, 'p'], /waiting fire needs a pattern and ids/],
      [['waiting', 'cancel', URL, 'p', 'id', '--all'], /--all is for dead-letters/]
    ] as const)
      await assert.rejects(
        readArguments(line, async () => ''),
        words
      )
  })
})
