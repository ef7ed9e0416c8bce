/** Without a client library: `fetch`, and `EventSource` for streams. */
import type { User, WebPeer } from '../peer.ts'

/** Declared here, because only browsers have it. */
declare class EventSource {
  constructor(url: string)
  onmessage: (event: { readonly data: string }) => void
  onerror: () => void
  addEventListener(type: 'end', listener: () => void): void
  close(): void
}

export function open(): WebPeer {
  return {
    user: async (id) => (await fetch(`/users/${id}`)).json() as Promise<User>,
    read: (name, value) =>
      new Promise((resolve, reject) => {
        const source = new EventSource(`/${name}`)
        const end = (error?: Error) => {
          source.close()
          if (error === undefined) resolve()
          else reject(error)
        }
        source.onmessage = ({ data }) => {
          try {
            value(JSON.parse(data))
          } catch (error) {
            end(error as Error)
          }
        }
        source.onerror = () => end(new Error('the stream of events was interrupted'))
        source.addEventListener('end', () => end())
      })
  }
}
