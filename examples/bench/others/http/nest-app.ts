/** The NestJS application, for any adapter. */
import 'reflect-metadata'
import { Body, Controller, Get, HttpCode, Module, Param, Post, Query, type Type } from '@nestjs/common'
import type { Work } from '../../suites/serve.ts'
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

/** @param rest how the adapter writes a wildcard */
export function nestModule({ routes, users }: Work, rest: string): Type {
  @Controller()
  class AppController {
    @Get()
    hello() {
      return HELLO
    }

    @Get('health')
    health() {
      return health()
    }

    @Get('api/user/:id')
    user(@Param('id') id: string) {
      return userOf(id)
    }

    @Post('api/user')
    @HttpCode(200)
    create(@Body() body: NewUser) {
      return createdOf(body)
    }

    @Get('compressed')
    compressed() {
      return DOCUMENT
    }

    @Get('users')
    users(@Query('limit') limit: string) {
      return users(Number(limit))
    }
  }
  const looked = controllerOf(routes, { Controller, Get, Param }, (route) => pathOf(route, rest), answerOf)

  @Module({ controllers: [AppController, looked] })
  class AppModule {}
  return AppModule
}
