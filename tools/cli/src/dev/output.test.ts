/** Which lines of services the terminal gets while one of them fails. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Downtime } from './downtime.ts'
import { Output } from './output.ts'

/** The output of a service, what it has written, and what `dev` has said. */
function output(name = 'orders') {
  const [written, said]: [string[], string[]] = [[], []]
  const downtime = new Downtime((text) => said.push(text))
  const made = new Output({ name, root: '/app', downtime, write: (line) => written.push(line) })
  return { written, said, downtime, output: made }
}

const FAILED = (request: string) => [
  `The handler of 'orders.place' failed (request ${request}): ConnectionError: 127.0.0.1:4000 refuses`,
  '    at call (/app/src/orders.ts:2:26)',
  '    at node:internal/main/run_main_module:28:49 {',
  "  code: 'CONNECTION',",
  '}'
]
const IDS = ['7fb82328-dfbc-4c8b-9704-8e9c2c5fba20', 'f67e555f-5938-480f-aacb-7603fe66367a']

describe('the lines of a service', () => {
  it('are written at once, but those of an error only when it is known that the service lives on', () => {
    const { written, output: made } = output()
    made.add(['it runs'], false)
    assert.deepEqual(written, ['it runs'])
    made.add(FAILED('1'), true)
    made.add(['it still runs'], false)
    assert.deepEqual(written, ['it runs'])
    made.flush()
    assert.deepEqual(written, ['it runs', ...FAILED('1'), 'it still runs'])
  })

  it('are the report of its end if it ends by an error, and none of them is written', () => {
    const { written, output: made } = output()
    made.add(['Error: no settings', '    at load (/app/src/settings.ts:1:32)'], true)
    const report = { text: 'Error: no settings', place: 'src/settings.ts:1', isCode: false, more: [] }
    assert.deepEqual(made.report(), report)
    assert.deepEqual(written, [])
    made.starting()
    assert.equal(made.report(), undefined)
  })

  it('tell why it has ended also if they were written a moment before', () => {
    const { written, output: made } = output()
    made.add(['Error: no settings', '  - PORT is missing', '    at load (/app/src/settings.ts:1:32)'], true)
    made.flush()
    assert.equal(written.length, 3)
    assert.deepEqual(made.report()?.more, [])
  })

  it('are one for each kind of error while another service is down, and all again afterwards', () => {
    const { written, said, downtime, output: made } = output()
    downtime.down('stock', /:4000\b/)
    for (let n = 0; n < 8; n++) {
      made.add(FAILED(IDS[n % 2] as string), true)
      made.add([`POST /orders (request ${IDS[n % 2]}) is answered with 500`], true)
    }
    made.add(['GET /orders 1', 'GET /orders 2'], false)
    made.flush()
    assert.deepEqual(written, [
      FAILED(IDS[0] as string)[0],
      `POST /orders (request ${IDS[0]}) is answered with 500`,
      'GET /orders 1',
      'GET /orders 2'
    ])
    downtime.up('stock')
    assert.deepEqual(said, ['14 more such lines were not printed while stock was down (orders: 14)'])
    written.length = 0
    made.add(FAILED('3'), true)
    made.flush()
    assert.deepEqual(written, FAILED('3'))
  })

  it('are one for all that name the program that is down, until its clients have said that it is back', () => {
    const { written, said, downtime, output: made } = output()
    downtime.down('redis', /:6379\b|\bRedis\b/)
    for (const line of [
      'The Redis server 127.0.0.1:6379 is lost; until it is back, the service gets no messages over it',
      'The Redis server 127.0.0.1:6379 is lost; until it is back, durable handlers get no events',
      'The connection to 127.0.0.1:6379 is lost: it has ended',
      'The disk is full',
      'Cannot connect to 127.0.0.1:6379: connect ECONNREFUSED 127.0.0.1:6379',
      'Connected to the Redis server 127.0.0.1:6379 again',
      'Connected to 127.0.0.1:6379 again'
    ])
      made.add([line], true)
    made.flush()
    downtime.up('redis')
    assert.deepEqual(written, [
      'The Redis server 127.0.0.1:6379 is lost; until it is back, the service gets no messages over it',
      'The disk is full'
    ])
    assert.deepEqual(said, ['5 more such lines were not printed while redis was down (orders: 5)'])
  })

  it('have the message and not the code that Bun shows before it', () => {
    const { written, downtime, output: made } = output()
    downtime.down('stock', /:4000\b/)
    made.add(
      [
        "The handler of 'orders.place' failed 1 | class Some extends Error {}",
        '2 | function call() { return new Some() }',
        '                             ^',
        'ConnectionError: 127.0.0.1:4000 refuses',
        ' mayHaveRun: false,',
        '      at call (/app/src/orders.ts:2:26)',
        '',
        'error: connect ECONNREFUSED',
        '      at call (/app/src/orders.ts:2:26)'
      ],
      true
    )
    made.flush()
    assert.deepEqual(written, [
      "The handler of 'orders.place' failed ConnectionError: 127.0.0.1:4000 refuses"
    ])
  })

  it('are whole of a service that is down itself', () => {
    const { written, downtime, output: made } = output('stock')
    downtime.down('stock', /:4000\b/)
    made.add(['it begins', 'it begins'], true)
    made.flush()
    assert.deepEqual(written, ['it begins', 'it begins'])
  })
})
