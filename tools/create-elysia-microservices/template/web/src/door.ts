/** The patterns of the service `orders` that web pages may call. Pages can call no other pattern. */
import { websocket } from '@elysia-microservices/websocket'

export const door = websocket({ expose: ['orders.*'] })
