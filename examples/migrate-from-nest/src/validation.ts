import { ValidationPipe } from '@nestjs/common'
import { RpcException } from '@nestjs/microservices'

/** Checks all data that is declared as a class, and tells callers what is wrong. */
export const validation = new ValidationPipe({
  transform: true,
  whitelist: true,
  exceptionFactory: (errors) =>
    new RpcException({ code: 'INVALID', fields: errors.map(({ property }) => property) })
})
