/**
 * Resumable connections with new tokens, which are cut before their answers are read: what the server keeps for them
 * must be limited.
 */
import type { Circumstances, Row, Scenario } from '../scenario.ts'
import { call, frame, setup, Type, uint } from './frames.ts'
import { type ServerProcess, withServer } from './process.ts'
import { RawPeer } from './raw-peer.ts'
import { HonestClient } from './tally.ts'

const MB = 1024 * 1024
const RESUME = { window: 600_000, waiting: 100, waitingSize: 32 * MB }
/** The share of both limits that one address may use. */
const SHARE = 1 / 4
const ANSWER = MB
const ANSWERS = 7
const COUNT = { short: 100, long: 1_000 }
/** Megabytes that a process may use in addition: for connections that are not cut yet, and for garbage. */
const SLACK_MB = 200
/** Milliseconds within which a connection must be answered, or must be kept for resuming. */
const PATIENCE = 20_000
/** The address that floods the server, and another address. */
const FLOODER = '127.0.0.2'
const NEIGHBOUR = '127.0.0.3'

/** Waits until a peer has received the wanted bytes. */
async function hears(peer: RawPeer, what: (received: Buffer) => boolean): Promise<boolean> {
  const end = performance.now() + PATIENCE
  while (!what(peer.received) && !peer.closed && performance.now() < end)
    await new Promise((resolve) => setTimeout(resolve, 2))
  return what(peer.received)
}

/** Connects with a token, sends a request, and is cut off behind the first bytes of the answer. */
async function lose(
  server: ServerProcess,
  token: string,
  address: string,
  answers: number
): Promise<boolean> {
  const peer = await RawPeer.connect(server.port, address)
  peer.read()
  const asked = Array.from({ length: answers }, (_, n) =>
    call(Type.REQUEST_RESPONSE, 2 * n + 1, 'big', answers === 1 ? 10 : ANSWER)
  )
  await peer.sent(Buffer.concat([setup({ token }), ...asked]))
  const answered = await hears(peer, ({ length }) => length > 10)
  peer.close('rst')
  return answered
}

/** Whether the server resumes a connection from its beginning. */
async function resumes(server: ServerProcess, token: string, address: string): Promise<boolean> {
  const peer = await RawPeer.connect(server.port, address)
  peer.read()
  const nothing = Buffer.alloc(8)
  await peer.sent(
    frame(0, Type.RESUME, 0, uint(2, 1), uint(2, 0), uint(2, token.length), token, nothing, nothing)
  )
  await hears(peer, ({ length }) => length >= 9)
  const type = peer.received.length < 9 ? 0 : peer.received.readUInt16BE(7) >> 10
  peer.close()
  return type === Type.RESUME_OK
}

async function flood({ length, progress }: Circumstances): Promise<Row> {
  return withServer('ours', { rsocket: { resume: RESUME } }, async (server) => {
    const honest = new HonestClient(server.port, 'rsocket')
    await honest.answered(100)
    const before = await server.figures()
    const broken: string[] = []
    const most = { waiting: 0, waitingBytes: 0 }
    const count = COUNT[length]
    if (!(await lose(server, 'neighbour', NEIGHBOUR, 1))) broken.push('the neighbour was not answered')
    await server.until(({ waiting }) => waiting === 1, PATIENCE)
    let unanswered = 0
    for (let number = 0; number < count; number++) {
      if (number % 100 === 0) progress(`${number} connections lost`)
      if (!(await lose(server, `token ${number}`, FLOODER, ANSWERS))) unanswered++
      const {
        connections,
        waiting = 0,
        waitingBytes = 0
      } = await server.until((figures) => figures.connections === 1, PATIENCE)
      if (connections !== 1) broken.push(`${connections - 1} lost connections still count as connected`)
      most.waiting = Math.max(most.waiting, waiting)
      most.waitingBytes = Math.max(most.waitingBytes, waitingBytes)
    }
    const after = await server.figures()
    // All connections except the neighbour's come from one address.
    const bytes = RESUME.waitingSize * SHARE + MB
    if (most.waiting > RESUME.waiting * SHARE + 1) broken.push(`${most.waiting} lost connections waited`)
    if (most.waitingBytes > bytes) broken.push(`${most.waitingBytes} bytes were kept; ${bytes} are allowed`)
    // A busy server has not sent all answers when its peer is cut off.
    if (most.waitingBytes < ANSWER) broken.push('nothing was kept to be resumed')
    if ((after.givenUp ?? 0) < count / 2) broken.push(`only ${after.givenUp} connections were given up`)
    if (unanswered > 0) broken.push(`${unanswered} connections were not answered`)
    if (await resumes(server, 'token 0', FLOODER)) broken.push('the oldest connection can still be resumed')
    if (!(await resumes(server, `token ${count - 1}`, FLOODER))) broken.push('the newest cannot be resumed')
    if (!(await resumes(server, 'neighbour', NEIGHBOUR)))
      broken.push('a connection of another address, which waited before, cannot be resumed')
    const tally = await honest.stop()
    const rssLimitMb = before.rssMb + RESUME.waitingSize / MB + SLACK_MB
    if (after.peakRssMb > rssLimitMb)
      broken.push(`it held ${after.peakRssMb} MB, its limits allow ${rssLimitMb} MB`)
    return {
      scenario: `${count} resumable connections of one address, each with a token of its own and ${ANSWERS} answers of 1 MiB, cut`,
      server: 'ours',
      faults: count,
      ...tally.columns,
      peakRssMb: after.peakRssMb,
      rssLimitMb,
      remark: `at most ${most.waiting} waited with ${Math.round(most.waitingBytes / MB)} MiB, ${after.givenUp} given up, the oldest first; limit: ${before.rssMb} MB before, resume.waitingSize 32 MiB, ${SLACK_MB} MB of garbage; slowest honest answer ${Math.round(honest.slowest)} ms`,
      broken: [...tally.broken(true), ...broken]
    }
  })
}

export const resumable: Scenario = {
  name: 'resumable-flood',
  run: async (circumstances) => [await flood(circumstances)]
}
