/** This project's client for pages, over WebSocket. */
import { connect } from '@elysia-microservices/websocket/client'
import { readAll, type User, type WebPeer } from '../peer.ts'

export function open(): WebPeer {
  const client = connect()
  return {
    user: (id) => client.request<User>('users.get', { id }),
    read: (name, value) => readAll(client.stream<string>(name), value)
  }
}
