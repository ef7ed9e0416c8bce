import { Catch, type RpcExceptionFilter } from '@nestjs/common'
import { type Observable, throwError } from 'rxjs'
import { OrderError } from './order.ts'

/** Callers learn the code of an order's error. */
@Catch(OrderError)
export class OrderErrorFilter implements RpcExceptionFilter<OrderError> {
  catch({ code, message }: OrderError): Observable<never> {
    return throwError(() => ({ code, message }))
  }
}
