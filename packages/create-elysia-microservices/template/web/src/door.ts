/** The patterns of the service that pages may call: nothing else can be reached from outside. */
import { websocket } from '@elysia-microservices/websocket'

export const door = websocket({ expose: ['orders.*'] })
