BEGIN TRANSACTION;
CREATE TABLE attempts (
	conversation VARCHAR(255) NOT NULL, 
	call_id VARCHAR(255) NOT NULL, 
	incident_id VARCHAR(512) NOT NULL, 
	tool VARCHAR(255) NOT NULL, 
	kind VARCHAR(32) NOT NULL, 
	action VARCHAR(16) NOT NULL, 
	target VARCHAR(255) NOT NULL, 
	ordinal INTEGER NOT NULL, 
	success BOOLEAN NOT NULL, 
	failed_as VARCHAR(32), 
	at FLOAT NOT NULL, 
	latency_s FLOAT, 
	PRIMARY KEY (conversation, call_id, incident_id)
);
INSERT INTO "attempts" VALUES('talk0','2','talk0/1','get_order','timeout','retry','',1,0,'timeout',1700000061.0,0.0);
INSERT INTO "attempts" VALUES('talk1','2','talk1/1','get_order','timeout','retry','',1,0,'factual_error',1700000122.0,0.0);
INSERT INTO "attempts" VALUES('talk2','2','talk2/1','get_order','timeout','retry','',1,0,'timeout',1700000183.0,0.0);
INSERT INTO "attempts" VALUES('talk3','2','talk3/1','get_order','timeout','retry','',1,0,'factual_error',1700000244.0,0.0);
CREATE TABLE btm_meta (
	"key" VARCHAR(64) NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "btm_meta" VALUES('schema_version','2');
INSERT INTO "btm_meta" VALUES('half_life_s','1209600.0');
INSERT INTO "btm_meta" VALUES('landmark','1700000000.0');
INSERT INTO "btm_meta" VALUES('hash_key_check','a16bde100479b889');
INSERT INTO "btm_meta" VALUES('hash_key_from','outside');
CREATE TABLE calls (
	conversation VARCHAR(255) NOT NULL, 
	call_id VARCHAR(255) NOT NULL, 
	tool VARCHAR(255) NOT NULL, 
	effect VARCHAR(8) NOT NULL, 
	fingerprint VARCHAR(32) NOT NULL, 
	arguments TEXT, 
	started_at FLOAT NOT NULL, 
	ended_at FLOAT NOT NULL, 
	latency_s FLOAT, 
	kind VARCHAR(32), 
	silent BOOLEAN NOT NULL, 
	ambiguous BOOLEAN NOT NULL, 
	status_code INTEGER, 
	detail TEXT NOT NULL, 
	rule VARCHAR(64) NOT NULL, 
	reported BOOLEAN NOT NULL, 
	PRIMARY KEY (conversation, call_id)
);
INSERT INTO "calls" VALUES('talk0','1','get_order','read','f6b7a3cf1f03dc33daccf9ecb454f946','{"order_id": "o0"}',1700000060.0,1700000060.0,0.0,'timeout',0,0,NULL,'timed out','type:TimeoutError',0);
INSERT INTO "calls" VALUES('talk0','2','get_order','read','f6b7a3cf1f03dc33daccf9ecb454f946','{"order_id": "o0"}',1700000061.0,1700000061.0,0.0,'timeout',0,0,NULL,'timed out','type:TimeoutError',0);
INSERT INTO "calls" VALUES('talk1','1','get_order','read','e7c39fc29cd49defe62d44015785914a','{"order_id": "o1"}',1700000121.0,1700000121.0,0.0,'timeout',0,0,NULL,'timed out','type:TimeoutError',0);
INSERT INTO "calls" VALUES('talk1','2','get_order','read','e7c39fc29cd49defe62d44015785914a','{"order_id": "o1"}',1700000122.0,1700000122.0,0.0,'factual_error',1,0,NULL,'order_id: o; status: open','implausible:echo',0);
INSERT INTO "calls" VALUES('talk2','1','get_order','read','f33af2d0442bc1c9ac98c8f53ee2d7a2','{"order_id": "o2"}',1700000182.0,1700000182.0,0.0,'timeout',0,0,NULL,'timed out','type:TimeoutError',0);
INSERT INTO "calls" VALUES('talk2','2','get_order','read','f33af2d0442bc1c9ac98c8f53ee2d7a2','{"order_id": "o2"}',1700000183.0,1700000183.0,0.0,'timeout',0,0,NULL,'timed out','type:TimeoutError',0);
INSERT INTO "calls" VALUES('talk3','1','get_order','read','8501af2ee563f49ad4cb0d9a47f41d0e','{"order_id": "o3"}',1700000243.0,1700000243.0,0.0,'timeout',0,0,NULL,'timed out','type:TimeoutError',0);
INSERT INTO "calls" VALUES('talk3','2','get_order','read','8501af2ee563f49ad4cb0d9a47f41d0e','{"order_id": "o3"}',1700000244.0,1700000244.0,0.0,'factual_error',1,0,NULL,'order_id: o; status: open','implausible:echo',0);
INSERT INTO "calls" VALUES('talk9','1','pay','write','97925470c9438642dbf89042b8120ffa','{"id": 1}',1700000244.0,1700000244.0,0.0,'timeout',0,1,NULL,'timed out','type:TimeoutError',0);
CREATE TABLE evidence (
	tool VARCHAR(255) NOT NULL, 
	kind VARCHAR(32) NOT NULL, 
	action VARCHAR(16) NOT NULL, 
	target VARCHAR(255) NOT NULL, 
	ordinal INTEGER NOT NULL, 
	successes FLOAT NOT NULL, 
	failures FLOAT NOT NULL, 
	PRIMARY KEY (tool, kind, action, target, ordinal)
);
INSERT INTO "evidence" VALUES('get_order','timeout','retry','',1,0.0,4.00034957171851512924e+00);
CREATE TABLE fitted (
	digest VARCHAR(64) NOT NULL, 
	source TEXT NOT NULL, 
	calls INTEGER NOT NULL, 
	PRIMARY KEY (digest)
);
CREATE TABLE incidents (
	incident_id VARCHAR(512) NOT NULL, 
	conversation VARCHAR(255) NOT NULL, 
	call_id VARCHAR(255) NOT NULL, 
	parent_id VARCHAR(512) NOT NULL, 
	tool VARCHAR(255) NOT NULL, 
	kind VARCHAR(32) NOT NULL, 
	state VARCHAR(16) NOT NULL, 
	opened_at FLOAT NOT NULL, 
	closed_at FLOAT, 
	PRIMARY KEY (incident_id)
);
INSERT INTO "incidents" VALUES('talk0/1','talk0','1','','get_order','timeout','abandoned',1700000060.0,1700000061.0);
INSERT INTO "incidents" VALUES('talk1/1','talk1','1','','get_order','factual_error','abandoned',1700000121.0,1700000122.0);
INSERT INTO "incidents" VALUES('talk2/1','talk2','1','','get_order','timeout','abandoned',1700000182.0,1700000183.0);
INSERT INTO "incidents" VALUES('talk3/1','talk3','1','','get_order','factual_error','abandoned',1700000243.0,1700000244.0);
INSERT INTO "incidents" VALUES('talk9/1','talk9','1','','pay','timeout','abandoned',1700000244.0,1700000244.0);
CREATE TABLE intents (
	conversation VARCHAR(255) NOT NULL, 
	call_id VARCHAR(255) NOT NULL, 
	tool VARCHAR(255) NOT NULL, 
	fingerprint VARCHAR(32) NOT NULL, 
	at FLOAT NOT NULL, 
	state VARCHAR(8) NOT NULL, 
	wish TEXT NOT NULL, 
	owner VARCHAR(255) NOT NULL, 
	kind VARCHAR(32), 
	keep BOOLEAN NOT NULL, 
	PRIMARY KEY (conversation, call_id)
);
INSERT INTO "intents" VALUES('talk9','1','pay','97925470c9438642dbf89042b8120ffa',1700000244.0,'doubt','{"586821768202af0b":"bc18e1c7c4b3f0fc"}','vm:634e5697:pid:[4026531836]|9048|398943','timeout',0);
CREATE TABLE shapes (
	tool VARCHAR(255) NOT NULL, 
	path VARCHAR(512) NOT NULL, 
	json_type VARCHAR(16) NOT NULL, 
	answers FLOAT NOT NULL, 
	PRIMARY KEY (tool, path, json_type)
);
CREATE INDEX calls_by_end ON calls (ended_at);
CREATE INDEX incidents_left_open ON incidents (opened_at) WHERE state = 'open';
CREATE INDEX attempts_by_key ON attempts (tool, kind, action, target, ordinal, at);
COMMIT;
