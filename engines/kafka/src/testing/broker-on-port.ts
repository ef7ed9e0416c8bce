/** A broker on a port of loopback: it reads the requests of the real driver, and gives the answers of a test. */
import type { Socket } from 'node:net'
import { after, before } from 'node:test'
import { SocketServer } from '@elysia-microservices/test-support'
import { Reader, Writer } from '@platformatic/kafka'
import { platformatic } from '../connection/platformatic.ts'
import type { DriverConnection } from '../driver.ts'
import { kafkaOptions } from '../options/options.ts'
import { type Type, tags } from './wire.ts'

/** Ids of topics. */
export const A = '11111111-2222-4333-8444-555555555555'
export const B = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee'
export const NO_ID = '00000000-0000-0000-0000-000000000000'
/** The first field of almost every answer: for how many milliseconds the broker wants to be left alone. */
export const AT_ONCE = 0

/** A request of the protocol, with the answer that a broker gives. */
export interface Exchange {
  readonly key: number
  readonly version: number
  readonly request: Type
  readonly answer: Type
  readonly answered: unknown
}

/** A broker that is asked one thing at a time. */
export class BrokerOnPort extends SocketServer {
  #expected: Exchange | undefined
  /** The fields of the last request; a text: it was another request than the expected one. */
  asked: unknown
  /** The name of the client, in the last request. */
  clientName: string | undefined

  expect(exchange: Exchange): void {
    this.#expected = exchange
    this.asked = undefined
  }

  protected serve(socket: Socket): void {
    let come = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      come = Buffer.concat([come, chunk])
      while (come.length >= 4 && come.length >= 4 + come.readInt32BE(0)) {
        const end = 4 + come.readInt32BE(0)
        socket.write(this.#answer(Reader.from(come.subarray(4, end))))
        come = come.subarray(end)
      }
    })
  }

  #answer(request: Reader): Buffer {
    const key = request.readInt16()
    const version = request.readInt16()
    const correlation = request.readInt32()
    this.clientName = request.readString(false)
    tags.read(request)
    const expected = this.#expected
    const isExpected = expected?.key === key && expected.version === version
    this.asked = isExpected ? expected.request.read(request) : `${key} in version ${version}`
    if (request.remaining > 0) this.asked = `${request.remaining} bytes more than expected`
    const answer = Writer.create().appendInt32(correlation)
    tags.write(answer, [])
    expected?.answer.write(answer, expected.answered)
    return answer.prependLength().buffer
  }
}

/** One broker and a connection to it, for the tests of a suite. */
export function connectedBroker(): {
  readonly broker: BrokerOnPort
  readonly connection: () => DriverConnection
} {
  const broker = new BrokerOnPort()
  let connection: DriverConnection
  before(async () => {
    const { port } = await broker.listen()
    connection = await platformatic.connect(
      { host: '127.0.0.1', port },
      kafkaOptions({}),
      'the client',
      () => {}
    )
  })
  after(async () => {
    await connection.close()
    await broker.close()
  })
  return { broker, connection: () => connection }
}
