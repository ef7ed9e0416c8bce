/** A service of this project that pages can reach in two ways: by WebSocket and by the gateway. */
import { memory } from '@elysia-microservices/transport'
import { websocket } from '@elysia-microservices/websocket'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { gateway } from 'elysia-microservices/gateway'
import { recordsLater } from '../../peers/work.ts'
import { serve } from '../serve.ts'
import { blocks, PAGE, VALUES } from '../web/work.ts'
import { userOf } from '../work.ts'
import { listen, newApp } from './elysia-app.ts'

await serve((work) => {
  const transport = memory()
  const service = microservice({ transport })
    .message('users.get', ({ data }: Message<{ readonly id: string }>) => userOf(data.id))
    .message('records', () => recordsLater(VALUES))
    .message('blocks', blocks)
  const app = newApp()
    .get('/', () => new Response(PAGE.body, PAGE))
    .use(service)
    .use(websocket({ expose: ['>'] }))
    .use(
      gateway(connect<typeof service>({ transport }), {
        'GET /users/:id': 'users.get',
        'GET /records': { stream: 'records' },
        'GET /blocks': { stream: 'blocks' }
      })
    )
  return listen(app, work)
})
