import { ValidationPipe } from '@nestjs/common'
import { RpcException } from '@nestjs/microservices'

/** Checks all data whose type is a class, and tells callers which fields are invalid. */
export const validation = new ValidationPipe({
  transform: true,
  whitelist: true,
  exceptionFactory: (errors) =>
    new RpcException({ code: 'INVALID', fields: errors.map(({ property }) => property) })
})
