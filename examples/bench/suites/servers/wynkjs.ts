/** WynkJS, as its documentation shows it: decorators on Elysia, for Bun only. */
import 'reflect-metadata'
import { Body, Controller, compression, Get, Param, Post, Query, WynkFactory } from 'wynkjs'
import { serve } from '../serve.ts'
import { answerOf, createdOf, DOCUMENT, HELLO, health, type NewUser, pathOf, userOf } from '../work.ts'
import { controllerOf } from './controller-of.ts'

await serve(async ({ port, routes, users, compresses }) => {
  @Controller()
  class AppController {
    @Get('/')
    hello() {
      return HELLO
    }

    @Get('/health')
    health() {
      return health()
    }

    @Get('/api/user/:id')
    user(@Param('id') id: string) {
      return userOf(id)
    }

    @Post('/api/user')
    create(@Body() body: NewUser) {
      return createdOf(body)
    }

    @Get('/compressed')
    compressed() {
      return DOCUMENT
    }

    @Get('/users')
    users(@Query('limit') limit: string) {
      return users(Number(limit))
    }
  }
  const looked = controllerOf(routes, { Controller, Get, Param }, pathOf, answerOf)
  const app = WynkFactory.create({ controllers: [AppController, ...(routes.length > 0 ? [looked] : [])] })
  if (compresses) app.use(compression({ threshold: 1024 }))
  // It has no choice of the address: it listens on all.
  await app.listen(port)
  return port
})
