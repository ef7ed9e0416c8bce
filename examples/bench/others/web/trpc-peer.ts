/** A tRPC client with any kind of link. */
import { createTRPCClient, type TRPCLink } from '@trpc/client'
import type { SmallRecord } from '../../payload/samples.ts'
import type { WebPeer } from '../../suites/web/peer.ts'
import type { WebRouter } from './trpc-server.ts'

export function trpcPeer(link: TRPCLink<WebRouter>): WebPeer {
  const client = createTRPCClient<WebRouter>({ links: [link] })
  return {
    user: (id) => client.user.query(id),
    read: (name, value) =>
      new Promise((resolve, reject) => {
        const take = {
          onData(data: SmallRecord | string) {
            try {
              value(data)
            } catch (error) {
              reader.unsubscribe()
              reject(error)
            }
          },
          onComplete: resolve,
          onError: reject
        }
        const reader =
          name === 'records'
            ? client.records.subscribe(undefined, take)
            : client.blocks.subscribe(undefined, take)
      })
  }
}
