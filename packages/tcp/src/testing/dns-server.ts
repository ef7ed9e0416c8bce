/** A DNS server for tests: this process asks it, and it answers every question with the same SRV records. */
import { createSocket, type Socket } from 'node:dgram'
import dns from 'node:dns'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { SrvRecord } from '@elysia-microservices/rsocket/pool'

const HEADER = 12
const SRV = 33
const INTERNET = 1
/** DNS flags: "response, recursion desired and available". */
const ANSWERED = 0x8180
/** A reference to the name in the question, by its position. */
const QUESTION_NAME = 0xc000 | HEADER

export class DnsServer {
  /** The records with which the server answers. */
  records: readonly SrvRecord[] = []
  readonly #socket: Socket
  readonly #before = dns.getServers()

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('message', (question, { port, address }) => socket.send(this.#answer(question), port, address))
  }

  static async start(): Promise<DnsServer> {
    const socket = createSocket('udp4')
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    const server = new DnsServer(socket)
    dns.setServers([`127.0.0.1:${(socket.address() as AddressInfo).port}`])
    return server
  }

  stop(): void {
    dns.setServers(this.#before)
    this.#socket.close()
  }

  #answer(question: Buffer): Buffer {
    const end = question.indexOf(0, HEADER) + 5
    return Buffer.concat([
      question.subarray(0, 2),
      uint16s(ANSWERED, 1, this.records.length, 0, 0),
      question.subarray(HEADER, end),
      ...this.records.map(resource)
    ])
  }
}

function resource({ name, priority, weight, port }: SrvRecord): Buffer {
  const target = Buffer.from([
    ...name.split('.').flatMap((label) => [label.length, ...Buffer.from(label)]),
    0
  ])
  const timeToLive = [0, 0]
  const head = uint16s(QUESTION_NAME, SRV, INTERNET, ...timeToLive, 6 + target.length, priority, weight, port)
  return Buffer.concat([head, target])
}

function uint16s(...values: number[]): Buffer {
  return Buffer.from(values.flatMap((value) => [value >> 8, value & 0xff]))
}
