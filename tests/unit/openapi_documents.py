"""One small shop API in each version of OpenAPI; `test_ingest_openapi_valid.py` checks that they are valid."""

from __future__ import annotations

import yaml

SWAGGER_2_0 = yaml.safe_load("""
swagger: "2.0"
info: {title: Shop API, version: "1"}
host: api.example.com
basePath: /v1
schemes: [http, https]
securityDefinitions:
  oauth:
    type: oauth2
    flow: implicit
    authorizationUrl: https://example.com/auth
    scopes: {orders.read: read, orders.write: write, orders.admin: all}
  key: {type: apiKey, in: header, name: X-Key}
security:
  - oauth: [orders.read]
parameters:
  limit: {name: limit, in: query, type: integer, minimum: 1, maximum: 100, default: 20, description: How many at most}
paths:
  /orders:
    get:
      operationId: listOrders
      summary: List orders
      tags: [orders]
      parameters:
        - $ref: "#/parameters/limit"
        - {name: status, in: query, type: array, items: {type: string, enum: [open, sent]}, collectionFormat: csv}
        - {name: created_after, in: query, type: string, format: date, x-example: "2026-01-01"}
      responses:
        200:
          description: Orders
          schema: {type: array, items: {$ref: "#/definitions/Order"}}
        400: {description: Bad filter}
    post:
      operationId: createOrder
      description: Create an order.
      security:
        - oauth: [orders.read, orders.write]
        - oauth: [orders.read, orders.admin]
      parameters:
        - {name: order, in: body, required: true, schema: {$ref: "#/definitions/Order"}}
      responses:
        201: {description: Made, schema: {$ref: "#/definitions/Order"}}
  /orders/{id}/receipt:
    parameters:
      - {name: id, in: path, required: true, type: string}
    post:
      summary: Attach a receipt
      consumes: [multipart/form-data]
      parameters:
        - {name: file, in: formData, type: file, required: true, description: The scan}
        - {name: note, in: formData, type: string}
      responses:
        204: {description: Done}
definitions:
  Order:
    type: object
    required: [customer, id]
    properties:
      id: {type: string, readOnly: true, example: ORD-1}
      customer: {type: string}
      total: {type: number, minimum: 0, exclusiveMinimum: true, x-nullable: true}
      parent: {$ref: "#/definitions/Order"}
""")

OPENAPI_3_0 = yaml.safe_load("""
openapi: 3.0.3
info: {title: Shop API, version: "1"}
servers:
  - url: https://{region}.example.com/v2/
    variables: {region: {default: eu}}
security:
  - bearer: []
paths:
  /orders/{id}:
    summary: One order
    parameters:
      - {name: id, in: path, required: true, schema: {type: string}}
      - {name: trace, in: header, schema: {type: string}}
      - {name: Authorization, in: header, schema: {type: string}}
    get:
      operationId: orders/get
      parameters:
        - {name: trace, in: header, description: Overrides the one of the path, schema: {type: string, maxLength: 8}}
        - name: filter
          in: query
          content: {application/json: {schema: {type: object, properties: {lines: {type: boolean}}}}}
        - {name: session, in: cookie, schema: {type: string}, example: abc}
      responses:
        "404": {$ref: "#/components/responses/Missing"}
        "200":
          description: The order
          content:
            text/html: {schema: {type: string}}
            application/json: {schema: {$ref: "#/components/schemas/Order"}}
    put:
      operationId: replaceOrder
      deprecated: true
      parameters:
        - {name: note, in: query, schema: {type: string}}
      requestBody:
        required: true
        content:
          text/xml: {schema: {type: string}}
          application/json:
            schema:
              allOf:
                - $ref: "#/components/schemas/Order"
                - type: object
                  required: [note]
                  properties:
                    id: {type: string}
                    note: {type: string, nullable: true, enum: [a, b]}
      responses:
        default: {description: Whatever}
    delete:
      operationId: removeIt
      security:
        - {}
        - bearer: []
      responses:
        "204": {description: Gone}
    patch:
      operationId: touch
      requestBody:
        content:
          application/json:
            schema:
              oneOf:
                - $ref: "#/components/schemas/Order"
                - {type: array, items: {type: string}}
      responses:
        "200": {description: OK}
  /orders/search:
    post:
      responses:
        "200": {description: OK, content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}}
      callbacks:
        done:
          "{$request.body#/url}":
            post:
              operationId: callback
              responses:
                "200": {description: OK}
components:
  securitySchemes:
    bearer: {type: http, scheme: bearer}
  responses:
    Missing: {description: No such order}
  schemas:
    Order:
      type: object
      required: [customer]
      discriminator: {propertyName: customer}
      properties:
        customer: {type: string, example: acme}
        secret: {type: string, writeOnly: true}
        lines:
          type: array
          items: {$ref: "#/components/schemas/Line"}
    Line:
      type: object
      properties:
        sku: {type: string}
        order: {$ref: "#/components/schemas/Order"}
""")

OPENAPI_3_1 = yaml.safe_load("""
openapi: 3.1.0
info: {title: Shop API, version: "1"}
paths:
  /orders:
    $ref: "#/components/pathItems/Orders"
components:
  pathItems:
    Orders:
      post:
        operationId: addOrder
        security:
          - oauth: [a]
          - key: []
            oauth: [a, b]
        requestBody:
          content:
            application/x-www-form-urlencoded:
              schema:
                type: object
                required: [customer]
                properties:
                  customer: {type: [string, "null"], examples: [acme]}
                  total: {type: number, exclusiveMinimum: 0}
                additionalProperties: false
              example: {customer: acme}
        responses:
          2XX: {description: Made, content: {application/json: {schema: {type: object, properties: {id: {const: 1}}}}}}
  securitySchemes:
    oauth:
      type: oauth2
      flows: {clientCredentials: {tokenUrl: https://example.com/t, scopes: {a: a, b: b}}}
    key: {type: apiKey, in: header, name: X-Key}
webhooks:
  sent:
    post:
      operationId: webhook
      responses:
        "200": {description: OK}
""")

OPENAPI_3_2 = yaml.safe_load("""
openapi: 3.2.0
info: {title: Shop API, version: "1"}
paths:
  /orders:
    query:
      operationId: findOrders
      requestBody:
        required: true
        content:
          application/json: {schema: {type: object, required: [text], properties: {text: {type: string}}}}
      responses:
        "200":
          description: Orders, one by one
          content:
            application/jsonl: {itemSchema: {type: object, properties: {id: {type: string}}}}
    additionalOperations:
      PURGE:
        operationId: purgeOrders
        responses:
          "204": {description: Gone}
    get:
      operationId: filterOrders
      parameters:
        - name: filter
          in: querystring
          content: {application/x-www-form-urlencoded: {schema: {type: object, properties: {q: {type: string}}}}}
      responses:
        "200": {description: OK, content: {application/json: {$ref: "#/components/mediaTypes/Orders"}}}
components:
  mediaTypes:
    Orders: {schema: {type: array, items: {type: string}}}
""")

DOCUMENTS = {"2.0": SWAGGER_2_0, "3.0": OPENAPI_3_0, "3.1": OPENAPI_3_1, "3.2": OPENAPI_3_2}
