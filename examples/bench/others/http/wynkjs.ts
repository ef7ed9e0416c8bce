/** WynkJS, as its documentation shows it: decorators on Elysia, for Bun only. */
import 'reflect-metadata'
import * as wynkjs from 'wynkjs'
import { serve } from '../../suites/serve.ts'
import { controllerOf } from '../../suites/servers/controller-of.ts'
import {
  answerOf,
  createdOf,
  DOCUMENT,
  HELLO,
  health,
  type NewUser,
  pathOf,
  userOf
} from '../../suites/work.ts'

/** Declared here, because the package's own types only work with bundlers. */
interface WynkJs {
  Controller(): ClassDecorator
  Get(path: string): MethodDecorator
  Post(path: string): MethodDecorator
  Param(name: string): ParameterDecorator
  Query(name: string): ParameterDecorator
  Body(): ParameterDecorator
  compression(options: { threshold: number }): unknown
  WynkFactory: {
    create(options: { controllers: readonly unknown[] }): {
      use(plugin: unknown): void
      listen(port: number): Promise<void>
    }
  }
}

const { Body, Controller, compression, Get, Param, Post, Query, WynkFactory } = wynkjs as unknown as WynkJs

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
  // WynkJS cannot choose an address: it listens on all.
  await app.listen(port)
  return port
})
