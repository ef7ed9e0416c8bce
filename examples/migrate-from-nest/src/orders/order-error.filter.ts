import { Catch, type RpcExceptionFilter } from '@nestjs/common'
import { type Observable, throwError } from 'rxjs'
import { OrderError } from './order.ts'

/** Sends the code of an `OrderError` to the caller. */
@Catch(OrderError)
export class OrderErrorFilter implements RpcExceptionFilter<OrderError> {
  catch({ code, message }: OrderError): Observable<never> {
    return throwError(() => ({ code, message }))
  }
}
