import { Module } from '@nestjs/common'
import { ClientsModule, Transport } from '@nestjs/microservices'
import { AuditModule } from '../audit/audit.module.ts'
import { OrdersController } from './orders.controller.ts'
import { OrdersService, STOCK } from './orders.service.ts'

@Module({
  imports: [
    AuditModule,
    ClientsModule.register([
      {
        name: STOCK,
        transport: Transport.TCP,
        options: { host: '127.0.0.1', port: Number(process.env['STOCK_PORT'] ?? 4001) }
      }
    ])
  ],
  controllers: [OrdersController],
  providers: [OrdersService]
})
export class OrdersModule {}
