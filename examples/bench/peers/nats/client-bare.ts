/**
 * NATS's driver alone, in two ways: used for speed (`request`: one inbox, a callback, own ids, no timer), and by its
 * `request()` (`send`), as most applications do.
 */
import { connect, createInbox } from '@nats-io/transport-node'
import type { OpenEchoClient } from '../echo-client.ts'

interface Waiting {
  answered(answer: unknown): void
  failed(reason: unknown): void
}

export const openEchoClient: OpenEchoClient = async (host, port, { method }) => {
  const connection = await connect({ servers: `nats://${host}:${port}` })
  const inbox = `${createInbox()}.`
  const waiting = new Map<string, Waiting>()
  let last = 0
  connection.subscribe(`${inbox}*`, {
    callback(_error, message) {
      const id = message.subject.slice(inbox.length)
      const call = waiting.get(id)
      waiting.delete(id)
      call?.answered(message.json())
    }
  })
  void connection.closed().then((reason) => {
    for (const { failed } of waiting.values()) failed(reason)
    waiting.clear()
  })
  await connection.flush()
  return {
    echo:
      method === 'request'
        ? (payload, answered, failed) => {
            const id = String(++last)
            waiting.set(id, { answered, failed })
            connection.publish('echo', JSON.stringify(payload), { reply: inbox + id })
          }
        : (payload, answered, failed) => {
            connection
              .request('echo', JSON.stringify(payload), { timeout: 30_000 })
              .then((message) => answered(message.json()), failed)
          },
    close: () => connection.close()
  }
}
