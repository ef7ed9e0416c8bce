import { Module } from '@nestjs/common'
import { OrdersModule } from './orders/orders.module.ts'

@Module({ imports: [OrdersModule] })
export class AppModule {}
