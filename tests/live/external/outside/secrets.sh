#!/bin/sh
# secrets.sh FOLDER: an authority, the brokers' certificate, and a user with a password.
set -eu
cd "$1"
new="-newkey rsa:2048 -nodes -days 2"
openssl req -x509 $new -keyout ca.key -out ca.pem -subj /CN=authority 2>/dev/null
openssl req $new -keyout broker.key -out broker.csr -subj /CN=broker 2>/dev/null
printf 'subjectAltName=IP:10.77.0.21,IP:10.77.0.22,IP:10.77.0.23\n' >broker.ext
openssl x509 -req -in broker.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
    -extfile broker.ext -out broker.crt 2>/dev/null
cat broker.key broker.crt >broker.pem
openssl rand -hex 16 >password
user=operator-$(openssl rand -hex 4)
password=$(cat password)
module=org.apache.kafka.common.security.plain.PlainLoginModule
cat >broker.properties <<X
jaas=$module required username="$user" password="$password" user_$user="$password";
X
cat >client.properties <<X
security.protocol=SASL_SSL
ssl.ca.location=$1/ca.pem
sasl.mechanism=PLAIN
sasl.username=$user
sasl.password=\${KAFKA_PASSWORD}
X
