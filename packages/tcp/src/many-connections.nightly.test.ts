/** Tests many connections that receive chunks at the same time: the chunks are handled together. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { afterEach, beforeEach, describe, it } from 'node:test'
import tls from 'node:tls'
import { authority, service } from './testing/certificates.ts'
import { Ends, SOCKETS } from './testing/ends.ts'

const CONNECTIONS = 100
const ROUNDS = 5

const frame = (packet: object) => {
  const json = JSON.stringify(packet)
  return `${json.length}#${json}`
}

/** Reads the packets that a peer on Nest's wire has sent, frame by frame; only for short ASCII texts. */
function readFrames(received: string): { packets: { id: string; data: unknown }[]; rest: string } {
  const packets = []
  for (let rest = received; ; ) {
    const hash = rest.indexOf('#')
    const end = hash + 1 + Number(rest.slice(0, Math.max(0, hash)))
    if (hash < 0 || rest.length < end) return { packets, rest }
    packets.push(JSON.parse(rest.slice(hash + 1, end)))
    rest = rest.slice(end)
  }
}

for (const [name, sockets] of SOCKETS) {
  describe(`many connections with sockets of ${name}`, () => {
    let ends: Ends

    beforeEach(() => {
      ends = new Ends(sockets)
    })

    afterEach(() => ends.close())

    for (const protocol of ['rsocket', 'nest'] as const) {
      it(`get each its own answers, in order (${protocol})`, async () => {
        const server = await ends.server({})
        const port = server.address?.port as number
        const clients = Array.from({ length: CONNECTIONS }, () => ends.client(port, { protocol }))
        const ask = async (index: number) => {
          const answers: unknown[] = []
          for (let round = 0; round < ROUNDS; round++) {
            const asked = [1, 2, 3].map((number) => `${index}/${round}/${number}`)
            const got = asked.map((text, at) =>
              clients[index]
                ?.request(at === 1 ? 'later' : 'echo', text)
                .then((answer) => answers.push(answer))
            )
            await Promise.all(got)
            assert.deepEqual(answers.splice(0).sort(), asked)
          }
        }
        await Promise.all(clients.map((_, index) => ask(index)))
      })
    }

    it('have all their events handled, though each ends with its last', async () => {
      const server = await ends.server({})
      const port = server.address?.port as number
      for (let round = 0; round < ROUNDS; round++) {
        const peers = Array.from({ length: CONNECTIONS }, () => net.connect(port, '127.0.0.1'))
        await Promise.all(peers.map((peer) => once(peer, 'connect')))
        const gone = peers.map((peer) => once(peer.resume(), 'close'))
        for (const [index, peer] of peers.entries())
          peer.end(frame({ pattern: 'note', data: round * CONNECTIONS + index }))
        await Promise.all(gone)
      }
      const all = Array.from({ length: CONNECTIONS * ROUNDS }, (_, index) => index)
      assert.deepEqual(
        ends.dispatcher.events.toSorted((a, b) => (a as number) - (b as number)),
        all
      )
    })

    for (const encrypted of [false, true]) {
      it(`have their requests answered, though each half-closes behind it${encrypted ? ', with TLS' : ''}`, async () => {
        const server = await ends.server(encrypted ? { tls: service } : {})
        const port = server.address?.port as number
        const connect = () =>
          encrypted ? tls.connect({ port, host: '127.0.0.1', ca: authority }) : net.connect(port, '127.0.0.1')
        for (let round = 0; round < ROUNDS; round++) {
          const peers = Array.from({ length: CONNECTIONS }, connect)
          await Promise.all(peers.map((peer) => once(peer, encrypted ? 'secureConnect' : 'connect')))
          const received = peers.map(async (peer) => {
            let text = ''
            peer.on('data', (chunk: Buffer) => {
              text += chunk
            })
            await once(peer, 'close')
            return readFrames(text).packets.length
          })
          for (const [index, peer] of peers.entries())
            peer.end(frame({ pattern: 'echo', data: index, id: `${index}` }))
          assert.deepEqual(await Promise.all(received), Array(CONNECTIONS).fill(1))
        }
      })
    }

    it('get their answers though the server closes with each', async () => {
      const server = net.createServer((peer) => {
        let received = ''
        peer.on('error', () => {})
        peer.on('data', (chunk) => {
          const { packets, rest } = readFrames(received + chunk)
          received = rest
          for (const { id, data } of packets) peer.end(frame({ response: data, isDisposed: true, id }))
        })
      })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as net.AddressInfo
      try {
        for (let round = 0; round < ROUNDS; round++) {
          const clients = Array.from({ length: CONNECTIONS }, () => ends.client(port, { protocol: 'nest' }))
          await Promise.all(clients.map((client) => client.connect()))
          const answers = await Promise.all(clients.map((client, index) => client.request('echo', index)))
          assert.deepEqual(
            answers,
            clients.map((_, index) => index)
          )
          await Promise.all(clients.map((client) => client.close()))
        }
      } finally {
        server.close()
      }
    })
  })
}
