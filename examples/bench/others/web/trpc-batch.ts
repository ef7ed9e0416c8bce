/** tRPC over HTTP: requests of one turn of the event loop in one batch, streams as Server-Sent Events. */
import { httpBatchLink, httpSubscriptionLink, splitLink } from '@trpc/client'
import type { WebPeer } from '../../suites/web/peer.ts'
import { trpcPeer } from './trpc-peer.ts'

export const open = (): WebPeer =>
  trpcPeer(
    splitLink({
      condition: ({ type }) => type === 'subscription',
      true: httpSubscriptionLink({ url: '/trpc' }),
      false: httpBatchLink({ url: '/trpc' })
    })
  )
